import SignatureTrust
import SpanASN1
import SpanPKCS7

/// The steps from the received container of a receipt to its plain value, with or without verification.
struct ReceiptContainer: Sendable {
    let policy: VerificationPolicy
    /// `nil` to decode without verifying.
    let trust: TrustEngine?

    private var limits: VerificationLimits { policy.limits }

    /// Reads DER, or BER, which is converted first.
    func open(_ received: [UInt8]) throws(VerificationError) -> (receipt: Receipt, verification: Verification?) {
        // The table of a receipt holds 32-bit offsets.
        let maximumByteCount = min(limits.maximumByteCount, Int(UInt32.max))
        guard received.count <= maximumByteCount else {
            throw VerificationError(.container(ASN1DecodingError(.inputTooLarge, offset: maximumByteCount)))
        }
        do throws(VerificationError) {
            return try openDER(received)
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
            return try openDER(normalized)
        } catch {
            throw error.mappingOffset { BERGate.pkcs7.receivedOffset(ofNormalized: $0, in: received.span) }
        }
    }

    /// Checks in this order, so that an input has one verdict: structure, signature, date, chain, payload.
    private func openDER(_ bytes: [UInt8]) throws(VerificationError) -> (receipt: Receipt, verification: Verification?)
    {
        let message: SignedData
        do throws(ASN1DecodingError) {
            message = try SignedData(
                ContentInfo(bytes.span), maximumCertificateCount: limits.maximumCertificateCount)
        } catch {
            throw VerificationError(.container(error))
        }
        let payload: ASN1Element
        do throws(SignatureTrustError) {
            payload = try message.dataContent()
        } catch {
            throw .signature(error, of: .receipt)
        }
        guard let trust else {
            return (
                Receipt(
                    storage: .init(bytes: bytes, payload: payload.contentRange, table: try decoded(payload).get())),
                nil
            )
        }
        let signature: VerifiedSignature
        do throws(SignatureTrustError) {
            signature = try trust.verifySignature(of: message)
        } catch {
            throw .signature(error, of: .receipt)
        }
        // The chain is judged at the payload's date, and what else is wrong with the payload counts after the chain. If only Apple can have
        // made the message, it is read once; a stranger's is not decoded before its signer is trusted.
        let early = signature.isSignerKnown ? decoded(payload) : nil
        let created: Instant
        if case .success(let table) = early, let date = table.date(.creationDate) {
            created = date
        } else {
            do throws(VerificationError) {
                created = try PayloadDecoder.creationDate(payload.content, baseOffset: payload.contentOffset)
            } catch {
                // Too damaged to hold a date. Only of a trusted signer's payload may it be said that it cannot be read.
                if case .payload = error.reason { _ = try verification(trust, signature, message, at: nil) }
                throw error
            }
        }
        let verification = try verification(
            trust, signature, message, at: policy.validationDate(signedAt: created))
        let table = try (early ?? decoded(payload)).get()
        return (Receipt(storage: .init(bytes: bytes, payload: payload.contentRange, table: table)), verification)
    }

    /// - Parameter date: The validation date; `nil` for the start of the validity of the signer's certificate.
    private func verification(
        _ trust: TrustEngine, _ signature: borrowing VerifiedSignature, _ message: SignedData,
        at date: Instant?
    ) throws(VerificationError) -> Verification {
        do throws(SignatureTrustError) {
            let moment = if let date { date } else { try signature.signerNotBefore() }
            return try trust.verification(for: signature, in: message, at: moment)
        } catch {
            throw .chain(error, of: .receipt)
        }
    }

    private func decoded(_ payload: ASN1Element) -> Result<ReceiptTable, VerificationError> {
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
