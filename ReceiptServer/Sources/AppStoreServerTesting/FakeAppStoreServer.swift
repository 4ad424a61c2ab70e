public import AppStoreServerAPI
import ServerThreads
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// A ``FakeAppStore`` served over HTTP on this machine, with the paths under `/fake/` that tests in any language use to
/// change it.
///
/// It also sends notifications a few times a second. It stops when it is released.
public final class FakeAppStoreServer: Sendable {
    /// The store.
    public let store: FakeAppStore
    private let listener: LoopbackListener
    private let stopped = Atomic<Bool>(false)

    /// Starts listening on 127.0.0.1.
    ///
    /// - Parameters:
    ///   - store: The store.
    ///   - port: The port, or 0 for any free port.
    /// - Throws: ``PortTaken``.
    public init(_ store: FakeAppStore, port: UInt16 = 0) throws(PortTaken) {
        let control = FakeControl(store: store)
        let listener = LoopbackListener(port: port) { request in
            request.path.utf8.starts(with: "/fake/".utf8) ? control.answer(request) : store.answer(request)
        }
        guard let listener else { throw PortTaken(port: port) }
        self.store = store
        self.listener = listener
        listener.start()
        Thread.detached { [weak self] in
            while let server = self, !server.stopped.load(ordering: .relaxed) {
                server.store.deliverNotifications()
                usleep(100_000)
            }
        }
    }

    deinit { stop() }

    /// Ends all connections.
    public func stop() {
        stopped.store(true, ordering: .relaxed)
        listener.stop()
    }

    /// The port.
    public var port: UInt16 { listener.port }

    /// The URL, such as `http://127.0.0.1:8088`.
    public var url: String { "http://127.0.0.1:\(port)" }

    /// The options of a client that uses this server.
    public var clientOptions: AppStoreServerClient.Options {
        var options = AppStoreServerClient.Options()
        options.loopbackURL = url
        return options
    }

    /// Another program is listening on the port.
    public struct PortTaken: Error, Hashable, Sendable {
        /// The port.
        public let port: UInt16
    }
}

/// Receivers of notifications.
public enum NotificationReceivers {
    /// Returns a receiver that sends `{"signedPayload":"…"}` to a URL, as Apple does. A status of 200 to 206 is a
    /// success.
    ///
    /// - Parameters:
    ///   - url: An `http:` or `https:` URL.
    ///   - timeLimit: The maximum time for the receiver's answer.
    public static func http(_ url: String, timeLimit: Duration = .seconds(30)) -> NotificationReceiver {
        let transport = HTTPTransport(timeLimit: timeLimit, maximumByteCount: 1 << 20, isLoopback: true)
        return { payload in
            // A JWS needs no escapes.
            let body = Array("{\"signedPayload\":\"\(payload)\"}".utf8)
            do throws(TransportFault) {
                let answer = try transport.send(
                    HTTPTransport.Request(
                        url: url, headers: ["Content-Type: application/json"], method: .post, body: body))
                return 200...206 ~= answer.status ? .success : .unsuccessfulStatus
            } catch {
                return switch error {
                case .timeout: .timedOut
                case .tls: .tlsIssue
                case .noConnection, .unknownHost: .noResponse
                case .torn: .prematureClose
                case .tooLarge: .invalidResponse
                case .unavailable: .other
                }
            }
        }
    }
}
