package import HTTPService

/// `GET /healthz`: the process answers.
package func healthRoutes() -> [Route] {
    [Route(.only("GET"), "/healthz") { _ in Response(body: Array(#"{"status":"ok"}"#.utf8)) }]
}
