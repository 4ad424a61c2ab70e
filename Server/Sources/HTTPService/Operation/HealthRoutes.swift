/// `GET /healthz`: the process answers. `GET /readyz`: it takes requests.
///
/// - Parameter check: Returns what is missing, such as a database; `nil` if nothing is. It must not wait.
package func healthRoutes(
    _ state: ServiceState, check: @escaping @Sendable () -> String? = { nil }
) -> [Route] {
    [
        Route(.only("GET"), "/healthz") { _ in Response(body: Array(#"{"status":"ok"}"#.utf8)) },
        Route(.only("GET"), "/readyz") { _ in
            guard state.isReady else { return .busy("stopping", "the service is stopping") }
            if let missing = check() { return .busy("not-ready", missing) }
            return Response(body: Array(#"{"status":"ready"}"#.utf8))
        },
    ]
}
