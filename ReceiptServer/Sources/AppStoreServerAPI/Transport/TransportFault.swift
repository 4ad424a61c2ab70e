/// The reason there is no complete answer to an HTTP request.
@nonexhaustive
public enum TransportFault: String, Error, Sendable, CaseIterable, CustomStringConvertible {
    /// The name of the host could not be resolved.
    case unknownHost = "unknown-host"
    /// The connection was refused, or failed before the request was sent.
    case noConnection = "no-connection"
    /// The host's certificate isn't trusted, or TLS failed for another reason.
    case tls
    /// The time limit was exceeded.
    case timeout
    /// The answer exceeds the size limit.
    case tooLarge = "too-large"
    /// The connection ended before the end of the answer, or the answer isn't HTTP.
    case torn
    /// libcurl can't be used at all.
    case unavailable

    public var description: String {
        switch self {
        case .unknownHost: "the name of the host cannot be resolved"
        case .noConnection: "the host cannot be reached"
        case .tls: "TLS failed: the host is not who it should be, or a proxy stands between"
        case .timeout: "the answer did not come in time"
        case .tooLarge: "the answer is larger than the limit"
        case .torn: "the connection ended within the answer, or the answer is no HTTP"
        case .unavailable: "libcurl cannot be used"
        }
    }
}
