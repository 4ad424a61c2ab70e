import HTTPService
import Testing

@testable import ReceiptService

struct HealthRoutesTests {
    @Test func `the process says that it answers`() {
        #expect(RouteTable(healthRoutes()).answer(Request(method: "GET", path: "/healthz")).status == 200)
    }
}
