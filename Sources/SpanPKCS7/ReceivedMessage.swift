package import SpanASN1

/// A message as it was received, with its DER.
///
/// ```swift
/// let message = try ReceivedMessage(bytes)
/// let signedData = try SignedData(ContentInfo(message.der.span))
/// ```
package struct ReceivedMessage: Sendable {
    /// The bytes as received.
    package let received: [UInt8]
    /// The received bytes, or the DER to which `BERGate.pkcs7` converted received BER.
    package let der: [UInt8]
    private let isNormalized: Bool

    /// Creates a message from received DER or BER.
    ///
    /// - Parameter received: The received bytes.
    /// - Throws: An error of the syntax if the gate cannot convert the message. Other faults are found when the message
    ///   is read.
    package init(_ received: [UInt8]) throws(ASN1DecodingError) {
        self.received = received
        isNormalized = Self.needsGate(received.span)
        der = isNormalized ? try BERGate.pkcs7.normalize(received.span) : received
    }

    /// Returns the offset in ``received`` of a byte of ``der``. The errors of reading ``der`` have such offsets.
    ///
    /// - Parameter offset: The offset in ``der``.
    package func receivedOffset(of offset: Int) -> Int {
        isNormalized ? BERGate.pkcs7.receivedOffset(ofNormalized: offset, in: received.span) : offset
    }

    private static func needsGate(_ bytes: Span<UInt8>) -> Bool {
        do throws(ASN1DecodingError) {
            let contentInfo = try ContentInfo(bytes)
            // Allows every deviation, because only the need for the gate matters here.
            if try contentInfo.isSignedData() {
                _ = try SignedData(contentInfo, allowing: .emptyUnsignedAttributes)
            }
            return false
        } catch {
            return error.kind == .indefiniteLength || error.kind == .constructedString
        }
    }
}
