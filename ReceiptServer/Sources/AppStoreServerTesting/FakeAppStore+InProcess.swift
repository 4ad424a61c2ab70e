package import AppStoreServerAPI
import StrictText

extension FakeAppStore {
    /// Returns a transport that answers requests without a socket, for `AppStoreServerClient.Options.transport`.
    ///
    /// Connection faults are reported as by libcurl. A slow answer comes immediately if the client would wait for it.
    ///
    /// - Parameter timeLimit: The time that the client waits.
    package func inProcess(
        timeLimit: Duration = .seconds(30)
    ) -> @Sendable (HTTPTransport.Request) throws(TransportFault) -> HTTPTransport.Answer {
        { [self] (request) throws(TransportFault) in
            let parts = request.url.utf8.split(
                separator: UInt8(ascii: "/"), maxSplits: 2, omittingEmptySubsequences: false)
            // `https:`, an empty part, and the host with the path.
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
