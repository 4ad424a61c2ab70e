/// `GET /healthz`: the process answers. `GET /readyz`: it takes requests.
package func healthRoutes(_ state: ServiceState) -> [Route] {
    [
        Route(.only("GET"), "/healthz") { _ in Response(body: Array(#"{"status":"ok"}"#.utf8)) },
        Route(.only("GET"), "/readyz") { _ in
            guard state.isReady else { return Response(HTTPFault.stopping) }
            return Response(body: Array(#"{"status":"ready"}"#.utf8))
        },
    ]
}
