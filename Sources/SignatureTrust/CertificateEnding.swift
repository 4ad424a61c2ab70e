/// The last eight bytes of a certificate: the end of its signature.
///
/// They distinguish almost any two certificates, so a search compares all bytes of only one.
struct CertificateEnding: Equatable {
    private let bytes: UInt64

    init(of certificate: Span<UInt8>) {
        bytes = certificate.indices.suffix(8).reduce(0) { $0 << 8 | UInt64(certificate[$1]) }
    }
}
