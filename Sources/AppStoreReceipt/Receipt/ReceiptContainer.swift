import SignatureTrust
import SpanASN1
import SpanPKCS7

/// The steps that verifying a receipt and decoding it without verification have in common.
enum ReceiptContainer {
    /// Calls `read` with a binary receipt as DER. BER, which `read` refuses, is converted first.
    static func readingDER<Value>(
        of received: [UInt8], _ limits: VerificationLimits, _ read: ([UInt8]) throws(VerificationError) -> Value
    ) throws(VerificationError) -> Value {
        // The table of a receipt holds 32-bit offsets.
        let maximumReceiptByteCount = min(limits.maximumReceiptByteCount, Int(UInt32.max))
        guard received.count <= maximumReceiptByteCount else {
            throw VerificationError(.container(ASN1DecodingError(.inputTooLarge, offset: maximumReceiptByteCount)))
        }
        do throws(VerificationError) {
            return try read(received)
        } catch {
            guard case .container(let fault) = error.reason,
                [.indefiniteLength, .constructedString].contains(fault.kind)
            else {
                throw error
            }
        }
        let normalized: [UInt8]
        do throws(ASN1DecodingError) {
            normalized = try BERGate.pkcs7.normalize(received.span)
        } catch {
            throw VerificationError(.container(error))
        }
        do throws(VerificationError) {
            return try read(normalized)
        } catch {
            throw error.mappingOffset { BERGate.pkcs7.receivedOffset(ofNormalized: $0, in: received.span) }
        }
    }

    /// The certificates in a binary receipt (DER); empty if they cannot be read.
    static func certificates(in binary: [UInt8]) throws(VerificationError) -> [[UInt8]] {
        let limits = VerificationLimits()
        return try readingDER(of: binary, limits) { (der) throws(VerificationError) in
            let message = try message(in: der.span, limits)
            do throws(SignatureTrustError) { return try message.embeddedCertificates().map(\.der) } catch { return [] }
        }
    }

    /// The message in the container.
    @_lifetime(copy der)
    static func message(in der: Span<UInt8>, _ limits: VerificationLimits) throws(VerificationError) -> SignedData {
        do throws(ASN1DecodingError) {
            return try SignedData(ContentInfo(der), maximumCertificateCount: limits.maximumCertificateCount)
        } catch {
            throw VerificationError(.container(error))
        }
    }

    /// The payload, not decoded.
    @_lifetime(copy message)
    static func payload(of message: SignedData) throws(VerificationError) -> ASN1Element {
        do throws(SignatureTrustError) {
            return try message.dataContent()
        } catch {
            throw .signature(error, of: .receipt)
        }
    }

    static func decode(_ payload: ASN1Element, _ limits: VerificationLimits) -> Result<ReceiptTable, VerificationError>
    {
        do throws(ASN1DecodingError) {
            return .success(
                try PayloadDecoder.decode(
                    payload.content, baseOffset: payload.contentOffset,
                    maximumPurchaseCount: limits.maximumPurchaseCount))
        } catch {
            return .failure(VerificationError(.payload(error)))
        }
    }
}

extension Receipt {
    /// - Parameters:
    ///   - der: The container, which the receipt keeps.
    ///   - payload: The payload in it.
    ///   - table: The payload, decoded.
    init(_ der: [UInt8], _ payload: ASN1Element, _ table: ReceiptTable) {
        self.init(storage: .init(bytes: der, payload: payload.contentRange, table: table))
    }
}
