public import SpanASN1

/// A message as it was received, and the DER to read it from.
///
/// ```swift
/// let message = try ReceivedMessage(bytes)
/// let signedData = try SignedData(ContentInfo(message.der.span))
/// ```
public struct ReceivedMessage: Sendable {
    /// The bytes as received.
    public let received: [UInt8]
    /// The bytes as received, or what `BERGate.pkcs7` made of BER.
    public let der: [UInt8]
    private let isNormalized: Bool

    /// - Throws: what makes the message neither DER nor BER that the gate lets through. DER that is wrong in any other way is kept as it is: reading it
    ///   will say.
    public init(_ received: [UInt8]) throws(ASN1DecodingError) {
        self.received = received
        isNormalized = Self.needsGate(received.span)
        der = isNormalized ? try BERGate.pkcs7.normalize(received.span) : received
    }

    /// Where the byte at an offset of ``der`` came from; errors of reading it have such offsets.
    public func receivedOffset(of offset: Int) -> Int {
        isNormalized ? BERGate.pkcs7.receivedOffset(ofNormalized: offset, in: received.span) : offset
    }

    private static func needsGate(_ bytes: Span<UInt8>) -> Bool {
        do throws(ASN1DecodingError) {
            let contentInfo = try ContentInfo(bytes)
            // All is let pass that the reader may let pass: what matters here is whether the gate is needed.
            if try contentInfo.isSignedData() {
                _ = try SignedData(contentInfo, allowing: .emptyUnsignedAttributes)
            }
            return false
        } catch {
            return error.kind == .indefiniteLength || error.kind == .constructedString
        }
    }
}
