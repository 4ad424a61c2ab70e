import Testing

@testable import HTTPService

struct RouteTableTests {
    private let table = RouteTable([
        Route(.only("GET"), "/healthz") { _ in Response(body: [], code: "health") },
        Route(.any, "/verifyReceipt") { _ in Response(body: [], code: "any") },
        Route(.only("POST"), "/v1/accounts/{id}/transfer") { Response(body: [], code: $0.parameters[0]) },
        Route(.only("DELETE"), "/v1/accounts/{id}") { Response(body: [], code: $0.parameters[0]) },
        Route(.only("GET"), "/v1/accounts/{id}") { Response(body: [], code: $0.parameters[0]) },
    ])

    @Test(arguments: [
        ("GET", "/healthz", 200, "health"), ("HEAD", "/healthz", 200, "health"),
        ("POST", "/healthz", 405, "method-not-allowed"), ("GET", "/healthz/", 404, "not-found"),
        ("GET", "healthz", 404, "not-found"), ("GET", "/HEALTHZ", 404, "not-found"), ("GET", "", 404, "not-found"),
        ("BREW", "/verifyReceipt", 200, "any"), ("POST", "/verifyreceipt", 404, "not-found"),
        ("POST", "/v1/accounts/a/transfer", 200, "a"), ("POST", "/v1/accounts//transfer", 404, "not-found"),
        ("POST", "/v1/accounts/a%2Fb%20%c3%a9/transfer", 200, "a/b é"),
        ("POST", "/v1/accounts/a%00/transfer", 404, "not-found"),
        ("POST", "/v1/accounts/%ff/transfer", 404, "not-found"),
        ("POST", "/v1/accounts/%4/transfer", 404, "not-found"), ("DELETE", "/v1/accounts/7", 200, "7"),
        ("PUT", "/v1/accounts/7", 405, "method-not-allowed"),
    ])
    func `a method and a path lead to one answer`(method: String, path: String, status: Int, code: String) {
        let response = table.answer(Request(method: method, path: path))
        #expect(response.status == status)
        #expect(response.code == code)
    }

    @Test func `405 names every method of the path`() {
        let response = table.answer(Request(method: "PUT", path: "/v1/accounts/7"))
        #expect(response.headers.map(\.value) == ["DELETE, GET, HEAD"])
    }
}
