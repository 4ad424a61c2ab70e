import SignatureTrust
import SpanASN1
import StrictText

// The verdict on one input: one JSON object, which the command prints as one line.
extension JSONWriter {
    /// The version of the schema of verdicts and decisions, which the article *JSON* describes. It changes if a member changes its meaning or goes.
    static let schema: Int64 = 1

    /// `{"file":…,"verified":true,"schema":1,"trust":{…},"receipt":{…}}`, or `{"file":…,"verified":false,"schema":1,"error":{…}}`. A JWS stands under the name of its
    /// kind, and the parts of a notification after it under theirs:
    /// `{"file":…,"verified":true,"schema":1,"trust":{…},"notification":{…},"transaction":{…},"renewal_info":{…}}`.
    ///
    /// - Parameters:
    ///   - place: where the input came from, for the member `file` or `line`.
    ///   - otherMembers: the value of the member `input`, an object; if it is empty, there is no such member.
    ///   - audience: whom the advice of an error is for.
    package mutating func verdict(
        _ result: Result<VerifiedEvidence, VerificationError>, from place: EvidencePlace? = nil,
        otherMembers: [UInt8] = [], for audience: Audience = .swift
    ) {
        switch result {
        case .success(let evidence):
            beginVerdict(isVerified: true, place, otherMembers)
            write(evidence)
        case .failure(let error):
            beginVerdict(isVerified: false, place, otherMembers)
            name("error")
            self.error(error, for: audience)
        }
        endObject()
    }

    /// The members that describe the verification.
    private mutating func write(_ evidence: VerifiedEvidence) {
        if case .receipt(let receipt) = evidence {
            name("trust")
            verification(receipt.verification)
            name("receipt")
            self.receipt(receipt.receipt)
            return
        }
        for (index, part) in evidence.signedParts.enumerated() {
            if index == 0 {
                name("trust")
                verification(part.verification)
            }
            name(utf8: part.name.utf8Span.span)
            part.write(to: &self)
        }
    }

    /// `{"verified":true,"schema":1,"kind":…,"trust":{…}}`
    mutating func verdictWithoutContents(_ evidence: VerifiedEvidence) {
        beginVerdict(isVerified: true)
        name("kind")
        if case .receipt(let receipt) = evidence {
            string("receipt")
            name("trust")
            verification(receipt.verification)
        } else if let part = evidence.signedParts.first {
            string(part.name)
            name("trust")
            verification(part.verification)
        }
        endObject()
    }

    /// `{"file":…,"verified":false,"schema":1,"receipt":{…}}`: decoded and not verified. A JWS has its header, as received, and its parts as in a verdict; a part of no
    /// known kind is the member `payload`. An error is as in a verdict.
    package mutating func decoding(
        _ result: Result<UnverifiedEvidence, VerificationError>, from place: EvidencePlace? = nil,
        for audience: Audience = .swift
    ) {
        beginVerdict(isVerified: false, place)
        switch result {
        case .success(.receipt(let receipt)):
            name("receipt")
            self.receipt(receipt.receipt)
        case .success(.jws(let jws)):
            name("header")
            compact(jws.header.span)
            for part in jws.parts {
                name(utf8: (part.kind?.rawValue ?? "payload").utf8Span.span)
                part.write(to: &self)
            }
        case .success(.transactionReceipt(let receipt)):
            name("transaction_receipt")
            receipt.transactionReceipt.write(to: &self)
        case .failure(let error):
            name("error")
            self.error(error, for: audience)
        }
        endObject()
    }

    /// `{"file":…,"verified":false,"schema":1,"error":{"code":…,"message":…}}` for an input that could not be read at all.
    package mutating func failure(_ fault: SurfaceFault, message: String, from place: EvidencePlace) {
        beginVerdict(isVerified: false, place)
        name("error")
        error(fault, message: message)
        endObject()
    }

    /// `{"code":…,"message":…}`
    mutating func error(_ fault: SurfaceFault, message: String) {
        beginObject()
        name("code")
        string(fault.rawValue)
        name("message")
        string(message)
        endObject()
    }

    mutating func beginVerdict(
        isVerified: Bool, _ place: EvidencePlace? = nil, _ otherMembers: [UInt8] = []
    ) {
        beginObject()
        // They are in one member, so that they cannot be mistaken for members of the verdict.
        if !otherMembers.isEmpty {
            name("input")
            raw(otherMembers.span)
        }
        if let place { self.place(place) }
        name("verified")
        bool(isVerified)
        name("schema")
        integer(Self.schema)
    }

    /// A member that says where a piece of evidence came from.
    mutating func place(_ place: EvidencePlace) {
        switch place {
        case .index(let index):
            name("index")
            integer(Int64(index))
        case .file(let file):
            name("file")
            string(file)
        case .line(let number):
            name("line")
            integer(Int64(number))
        }
    }

    /// `{"code":…,"stage":…,"category":…,"message":…,"advice":…,"found":…,"expected":…,"part":…,"offset":…,"offset_in":…,"form":…,"path":…}`:
    /// what is not known is left out.
    package mutating func error(_ error: VerificationError, for audience: Audience = .swift) {
        let fault = error.fault
        beginObject()
        name("code")
        string(fault.code)
        name("stage")
        string(fault.stage.rawValue)
        name("category")
        string(fault.party.category.rawValue)
        name("at_fault")
        string(fault.party.rawValue)
        name("message")
        string(fault.explanation)
        name("advice")
        string(fault.advice(for: audience))
        if let found = error.found {
            name("found")
            string(found)
        }
        if let expected = error.expected {
            name("expected")
            string(expected)
        }
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
        if let armor = error.armor {
            name("form")
            string(armor.rawValue)
        }
        if let path = error.path {
            name("path")
            string(path)
        }
        endObject()
    }

    mutating func verification(_ verification: Verification) {
        beginObject()
        name("authority")
        string(verification.authority.rawValue)
        name("anchor")
        hex(verification.anchor.bytes.span)
        name("signer")
        hex(verification.signer.bytes.span)
        name("signer_expires")
        date(verification.signerExpirationDate)
        name("digest")
        string(verification.digest.rawValue)
        name("validated_at")
        date(verification.validationDate)
        if verification.authority == .storeKitTesting {
            name("note")
            string("StoreKit Testing: everyone who has Xcode can sign this, so it authenticates nobody")
        }
        endObject()
    }
}
