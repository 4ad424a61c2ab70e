/// The last eight bytes of a certificate, which its signature ends with.
///
/// They tell almost any two certificates apart, so that a search compares all bytes of one only.
struct CertificateEnding: Equatable {
    private let bytes: UInt64

    init(of certificate: Span<UInt8>) {
        bytes = certificate.indices.suffix(8).reduce(0) { $0 << 8 | UInt64(certificate[$1]) }
    }
}
