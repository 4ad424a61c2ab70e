package import AppStoreServerAPI
import StrictText

extension FakeAppStore {
    /// Answers the requests of a client without a socket: for `AppStoreServerClient.Options.transport`.
    ///
    /// A fault of the connection is what libcurl makes of it. A slow answer comes at once if the client waits for it.
    ///
    /// - Parameter timeLimit: How long the client waits.
    package func inProcess(
        timeLimit: Duration = .seconds(30)
    ) -> @Sendable (HTTPTransport.Request) throws(TransportFault) -> HTTPTransport.Answer {
        { [self] (request) throws(TransportFault) in
            let parts = request.url.utf8.split(
                separator: UInt8(ascii: "/"), maxSplits: 2, omittingEmptySubsequences: false)
            // `https:`, nothing, and the host with the path.
            let rest = parts.count == 3 ? Array(parts[2]) : []
            let target = rest.firstIndex(of: UInt8(ascii: "/")).map { Array(rest[$0...]) } ?? []
            var asked = FakeRequest(request.method.rawValue, target: target)
            asked.body = request.body ?? []
            for header in request.headers {
                let name = "Authorization: "
                if header.utf8.starts(with: name.utf8) { asked.authorization = String(header.dropFirst(name.count)) }
            }
            let answer = self.answer(asked)
            switch answer.delivery {
            case .tornBody, .tornHeader: throw .torn
            case .slow(let time): if time > timeLimit { throw .timeout }
            default: break
            }
            guard answer.body.count <= 8 << 20 else { throw .tooLarge }
            func header(_ name: String) -> String? {
                answer.headers.first { $0.name.hasSameBytes(as: name) }?.value
            }
            return HTTPTransport.Answer(
                status: answer.status, body: answer.body, retryAfter: header("Retry-After"),
                date: header("Date").flatMap(HTTPTransport.date))
        }
    }
}
