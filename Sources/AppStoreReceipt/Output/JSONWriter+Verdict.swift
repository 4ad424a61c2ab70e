import SignatureTrust
import SpanASN1
import StrictText

// What became of one input: one JSON object, which the command prints on a line of its own.
extension JSONWriter {
    /// `{"file":…,"verified":true,"trust":{…},"receipt":{…}}`, or `{"file":…,"verified":false,"error":{…}}`.
    package mutating func verdict(
        _ result: Result<VerifiedReceipt, ReceiptError>, file: String?, otherMembers: [UInt8] = []
    ) {
        switch result {
        case .success(let receipt):
            beginVerdict(isVerified: true, file, otherMembers)
            name("trust")
            evidence(receipt.trust)
            name("receipt")
            self.receipt(receipt.receipt)
        case .failure(let error):
            beginVerdict(isVerified: false, file, otherMembers)
            name("error")
            self.error(error)
        }
        endObject()
    }

    /// The same of evidence of either kind. Signed data stands under the name of its kind, and the parts of a notification after it under
    /// theirs: `{"file":…,"verified":true,"trust":{…},"notification":{…},"transaction":{…},"renewal_info":{…}}`.
    ///
    /// - Parameter otherMembers: the value of the member `input`, an object; nothing where it is empty.
    package mutating func verdict(
        _ result: Result<VerifiedEvidence, EvidenceError>, file: String?, otherMembers: [UInt8] = []
    ) {
        switch result {
        case .success(.receipt(let receipt)):
            verdict(Result<_, ReceiptError>.success(receipt), file: file, otherMembers: otherMembers)
        case .failure(.receipt(let error)):
            verdict(Result<VerifiedReceipt, _>.failure(error), file: file, otherMembers: otherMembers)
        case .success(let evidence):
            beginVerdict(isVerified: true, file, otherMembers)
            for (index, part) in evidence.signedParts.enumerated() {
                if index == 0 {
                    name("trust")
                    self.evidence(part.trust)
                }
                let kind = part.kind.rawValue
                name(utf8: kind.utf8Span.span)
                part.write(to: &self)
            }
            endObject()
        case .failure(.signedData(let error)):
            beginVerdict(isVerified: false, file, otherMembers)
            name("error")
            self.error(error)
            endObject()
        }
    }

    /// `{"file":…,"verified":false,"receipt":{…}}`: decoded and not verified. An error is as in a verdict.
    package mutating func decoding(_ result: Result<UnverifiedReceipt, ReceiptError>, file: String?) {
        beginVerdict(isVerified: false, file)
        switch result {
        case .success(let receipt):
            name("receipt")
            self.receipt(receipt.receipt)
        case .failure(let error):
            name("error")
            self.error(error)
        }
        endObject()
    }

    /// `{"file":…,"verified":false,"error":{"code":…,"message":…}}` for an input that could not be read at all.
    package mutating func failure(code: StaticString, message: String, file: String?) {
        beginVerdict(isVerified: false, file)
        name("error")
        beginObject()
        name("code")
        string(code)
        name("message")
        string(message)
        endObject()
        endObject()
    }

    mutating func beginVerdict(isVerified: Bool, _ file: String?, _ otherMembers: [UInt8] = []) {
        beginObject()
        // Under a name of ours: a sender's member beside the verdict's could be taken for one of them.
        if !otherMembers.isEmpty {
            name("input")
            raw(otherMembers.span)
        }
        if let file {
            name("file")
            string(file)
        }
        name("verified")
        bool(isVerified)
    }

    /// `{"code":…,"stage":…,"category":…,"message":…,"advice":…,"offset":…,"offset_in":…,"form":…,"path":…}`: whose fault it is, and at the
    /// end what is known of the place.
    package mutating func error(_ error: ReceiptError) {
        beginError(error.code, error.stage.rawValue, error.category, error.explanation, error.advice)
        if let offset = error.offset {
            name("offset")
            integer(Int64(offset))
            name("offset_in")
            string(error.isOffsetIntoText ? "text" : "binary")
        }
        if case .input(let error) = error, let form = error.form {
            name("form")
            string(form.rawValue)
        }
        if let path = error.path {
            name("path")
            string(path)
        }
        endObject()
    }

    /// `{"code":…,"stage":…,"category":…,"message":…,"advice":…,"part":…,"offset":…,"offset_in":…}`: whose fault it is, and at the
    /// end what is known of the place.
    private mutating func error(_ error: SignedDataError) {
        beginError(error.code, error.stage.rawValue, error.category, error.explanation, error.advice)
        if let part = error.part {
            name("part")
            string(part.rawValue)
        }
        if let offset = error.offset, let base = error.offsetBase {
            name("offset")
            integer(Int64(offset))
            name("offset_in")
            string(base.rawValue)
        }
        endObject()
    }

    private mutating func beginError(
        _ code: String, _ stage: String, _ category: ReceiptError.Category, _ explanation: String, _ advice: String
    ) {
        beginObject()
        name("code")
        string(code)
        name("stage")
        string(stage)
        name("category")
        string(category.rawValue)
        name("message")
        string(explanation)
        name("advice")
        string(advice)
    }

    mutating func evidence(_ trust: Verification) {
        beginObject()
        name("authority")
        string(trust.authority.rawValue)
        name("anchor")
        hex(trust.anchor.bytes.span)
        name("signer")
        hex(trust.signer.bytes.span)
        name("signer_expires")
        date(trust.signerExpiry)
        name("digest")
        string(trust.digest.rawValue)
        name("validated_at")
        date(trust.validationDate)
        if trust.authority == .storeKitTesting {
            name("note")
            string("StoreKit Testing: everyone who has Xcode can sign this, so it authenticates nobody")
        }
        endObject()
    }
}

extension ReceiptError {
    /// Whether ``offset`` counts in the text around the receipt, and not in the binary receipt.
    package var isOffsetIntoText: Bool {
        if case .input(let error) = self { error.form != .binary } else { false }
    }
}
