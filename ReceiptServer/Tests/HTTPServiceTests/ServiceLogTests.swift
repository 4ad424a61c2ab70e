import Synchronization
import Testing

@testable import HTTPService

struct ServiceLogTests {
    private final class Lines: Sendable {
        let lines = Mutex<[String]>([])
    }

    private func lines(_ detail: ServiceLog.Detail, _ write: (ServiceLog) -> Void) -> [String] {
        let lines = Lines()
        write(
            ServiceLog(detail: detail) { line in
                lines.lines.withLock { $0.append(String(decoding: line, as: UTF8.self)) }
            })
        return lines.lines.withLock(\.self)
    }

    private func record(_ status: Int, _ code: String) -> AnswerRecord {
        AnswerRecord(
            method: AnswerRecord.known("POST"), status: status, code: code, bodyByteCount: 12, nanoseconds: 34567,
            requestID: "0197a5b1")
    }

    @Test(arguments: [
        (ServiceLog.Detail.none, 200, "ok", false), (.none, 500, "unexpected-type", false),
        (.problems, 200, "ok", false),
        (.problems, 200, "untrusted-chain", true), (.problems, 404, "not-found", true), (.all, 200, "ok", true),
    ])
    func `an answer is written if its detail is wanted`(
        detail: ServiceLog.Detail, status: Int, code: String, isWritten: Bool
    ) {
        let lines = lines(detail) { $0.write(record(status, code), route: "/v1/verify") }
        #expect(lines.count == (isWritten ? 1 : 0))
    }

    @Test func `a line is one JSON object with the time in front`() {
        let line = lines(.all) { $0.write(record(403, "untrusted-chain"), route: "/v1/verify") }[0]
        #expect(line.hasPrefix(#"{"time":"20"#))
        #expect(
            line.hasSuffix(
                #""level":"warning","event":"answer","route":"/v1/verify","method":"POST","status":403,"code":"untrusted-chain","bytes":12,"microseconds":34,"request":"0197a5b1"}"#
                    + "\n"))
    }

    @Test func `a line has what the route adds`() {
        var record = record(200, "ok")
        record.logged = [("transactions", "1 granted")]
        let line = lines(.all) { $0.write(record, route: "/v1/redeem") }[0]
        #expect(line.hasSuffix(#""request":"0197a5b1","transactions":"1 granted"}"# + "\n"))
    }

    @Test func `the names of requests are in the order of time`() {
        let names = (0..<100).map { _ in RequestID.make() }
        #expect(Set(names).count == 100 && names.allSatisfy { $0.utf8.count == 28 })
        #expect(names.map { $0.prefix(12) } == names.map { $0.prefix(12) }.sorted())
    }

    @Test(arguments: [("GET", "GET"), ("get", "other"), ("POST\nx", "other"), ("", "other"), ("BREW", "other")])
    func `a method that a client invents has no name`(method: String, name: String) {
        #expect(AnswerRecord.known(method) == name)
    }

    @Test func `a text of the system is escaped`() {
        let line = lines(.none) { $0.write(.info, "start", [("message", .text("a\"b\nc"))]) }[0]
        #expect(line.hasSuffix(#""message":"a\"b\nc"}"# + "\n"))
    }

    @Test func `metrics are in the format of Prometheus`() {
        let metrics = ServiceMetrics(RouteTable([Route(.only("POST"), "/v1/verify") { _ in Response(body: []) }]))
        metrics.count(record(200, "ok"), route: 0)
        metrics.count(record(403, "untrusted-chain"), route: 0)
        metrics.count(record(404, "not-found"), route: nil)
        metrics.countLate([.body: 2])
        var family = MetricFamily(.counter, "x_total", "Things.")
        family.add(5, [("label", "a\"b\\c\nd")])
        let text = metrics.text(connectionCount: 3, lanes: [.guarded: (1, 70_000)], others: [family])
        for line in [
            "# TYPE receipt_server_requests_total counter",
            #"receipt_server_requests_total{route="/v1/verify",status="200"} 1"#,
            #"receipt_server_requests_total{route="none",status="404"} 1"#,
            #"receipt_server_request_seconds_bucket{route="/v1/verify",le="5e-05"} 2"#,
            #"receipt_server_request_seconds_bucket{route="/v1/verify",le="+Inf"} 2"#,
            #"receipt_server_request_seconds_count{route="/v1/verify"} 2"#, "receipt_server_connections 3",
            #"receipt_server_queue_length{lane="guarded"} 1"#, #"receipt_server_memory_bytes{lane="guarded"} 70000"#,
            #"receipt_server_late_clients_total{phase="body"} 2"#,
            #"x_total{label="a\"b\\c\nd"} 5"#,
        ] { #expect(text.contains(line + "\n"), "\(line)") }
        // Each line is a comment, or a name, labels and a number.
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            #expect(line.split(separator: " ").last.flatMap { Double($0) } != nil, "\(line)")
        }
    }
}
