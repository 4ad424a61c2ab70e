import HTTPService
import LedgerService
import Testing
import TrialSupport

@testable import ReceiptService

/// `UPDATE_ARTICLES=1 swift test --filter ServiceFaultTests` writes the table of `README.md`.
struct ServiceFaultTests {
    private static func rows<Table: ServiceFault>(_: Table.Type) -> [String] {
        Table.allCases.map { fault in
            let row = fault.row
            return "| `\(fault.rawValue)` | \(row.status) | \(row.explanation) |"
        }
    }

    @Test func `the server's reference has the tables of faults, whole and in their words`() throws {
        let rows = Self.rows(HTTPFault.self) + Self.rows(EvidenceFault.self) + Self.rows(LedgerFault.self)
        #expect(
            try Document("README.md").has(
                rows, after: "| code | status | what is wrong |\n| --- | --- | --- |\n",
                before: "\n\n"))
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
