import AppStoreReceiptTesting
import Foundation
import LedgerTestSupport
import PurchaseLedger
import TrialSupport

/// Makes a ledger, and returns its location.
func newLedger(_ location: String) throws -> String {
    _ = try PurchaseLedger(creating: location)
    return location
}

/// A running server with a ledger, on a free port, which can be killed at any moment.
struct LedgerProcess {
    static let token = "token-of-the-backend-1234"

    let process: ChildProcess
    let port: UInt16

    /// - Parameter limit: The size beyond which the server can write no file, in blocks of 512 bytes; `nil` for none.
    init(
        _ evidence: MintedEvidence, _ ledger: String, webhook: String? = nil, options: [String] = [], limit: Int? = nil
    ) throws {
        let tokens = try evidence.write(Array((Self.token + "\n").utf8), to: "tokens")
        let secret = try evidence.write(Array("a secret of a test\n".utf8), to: "secret")
        var command = [
            ServerProcess.executable.path, "--listen", "127.0.0.1:0", "--log", "none", "--bundle-id",
            MintedEvidence.bundleID, "--ledger", ledger, "--token-file", tokens,
        ]
        command += evidence.trustOptions + options
        if let webhook { command += ["--webhook", webhook, "--webhook-secret-file", secret] }
        if let limit {
            // An ignored signal stays ignored in the server: a write beyond the limit is an error, as on a full disk.
            command = ["/bin/sh", "-c", "trap '' XFSZ; ulimit -f \(limit); exec \"$@\"", "sh"] + command
        }
        process = try ChildProcess(command)
        var port: UInt16 = 0
        while port == 0, let line = process.readLine() {
            let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            guard object?["event"] as? String == "start", let address = object?["listen"] as? String else { continue }
            port = address.split(separator: ":").last.flatMap { UInt16($0) } ?? 0
        }
        guard port != 0 else { throw ChildProcess.Failure(description: "the server did not start") }
        self.port = port
    }

    /// Sends a request to redeem; returns the answer's status and outcomes, or `nil` if there was none.
    static func redeem(
        _ evidence: String, for account: String, over client: Client
    ) -> (status: Int, outcomes: [String])? {
        let body = #"{"account":"\#(account)","evidence":"\#(evidence)"}"#
        let head = "POST /v1/redeem HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(token)\r\n"
        guard client.send(head + "Content-Length: \(body.utf8.count)\r\n\r\n" + body), let answer = client.receive()
        else {
            return nil
        }
        let outcomes = answer.object["outcomes"] as? [[String: Any]] ?? []
        return (answer.status, outcomes.compactMap { $0["outcome"] as? String })
    }

    func kill() {
        process.signal(SIGKILL)
        process.wait()
    }
}
