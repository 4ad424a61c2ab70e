import HTTPService
import LedgerService
import Testing
import TrialSupport

@testable import ReceiptService

/// `UPDATE_ARTICLES=1 swift test --filter ServiceFaultTests` writes the table of `README.md`.
struct ServiceFaultTests {
    private static func codes<Table: ServiceFault>(_: Table.Type) -> [(status: Int, code: String)] {
        Table.allCases.map { ($0.row.status, $0.rawValue) }
    }

    @Test func `the server's page has the codes of all faults, by their status`() throws {
        let faults = Self.codes(HTTPFault.self) + Self.codes(EvidenceFault.self) + Self.codes(LedgerFault.self)
        let rows = Set(faults.map(\.status)).sorted().map { status in
            // Two tables have `not-found`.
            let codes = faults.filter { $0.status == status }.map { "`\($0.code)`" }.reduce(into: [String]()) {
                if !$0.contains($1) { $0.append($1) }
            }
            return "| \(status) | \(codes.joined(separator: ", ")) |"
        }
        #expect(
            try Document("README.md").has(rows, after: "| status | codes |\n| --- | --- |\n", before: "\n\n"))
    }

    @Test func `an answer is its row, and what is wrong with the request`() {
        let response = Response(HTTPFault.queueFull, "3")
        #expect(response.status == 503 && response.code == "queue-full")
        #expect(response.headers.map(\.name) == ["Retry-After"])
        #expect(
            String(decoding: response.body, as: UTF8.self)
                == #"{"error":{"code":"queue-full","category":"host","message":"too many requests are waiting: 3","advice":"Try again later."}}"#
        )
    }
}
