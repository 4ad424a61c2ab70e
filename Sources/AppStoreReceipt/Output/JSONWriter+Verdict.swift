import SignatureTrust
import StrictText

// The verdict on one input: one JSON object, which the command prints as one line.
extension JSONWriter {
    /// The version of the schema of verdicts and decisions, which the article *JSON* describes. It changes if a member
    /// changes its meaning or goes.
    static let schema: Int64 = 1

    /// `{"file":…,"verified":true,"schema":1,"trust":{…},"receipt":{…}}`, or
    /// `{"file":…,"verified":false,"schema":1,"error":{…}}`. A JWS stands under the name of its kind, and the parts of
    /// a notification after it under theirs:
    /// `{"file":…,"verified":true,"schema":1,"trust":{…},"notification":{…},"transaction":{…},"renewal_info":{…}}`. A
    /// verdict without purchases has `"nothing":"empty-in-app"` or `"nothing":"no-product"` at the end.
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
            beginVerdict(isVerified: true, place, otherMembers, unwrapped: evidence.unwrapped)
            write(evidence.parts)
            member("nothing", ifAny: evidence.nothing?.rawValue)
        case .failure(let error):
            beginVerdict(isVerified: false, place, otherMembers, unwrapped: error.unwrapped)
            self.error(error, for: audience)
        }
        endObject()
    }

    private mutating func write(_ parts: [EvidencePart]) {
        trust(parts)
        for part in parts {
            part.name.withUTF8Bytes { name(utf8: $0) }
            part.write(to: &self)
        }
    }

    /// `{"verified":true,"schema":1,"kind":…,"trust":{…}}`
    mutating func verdictWithoutContents(_ evidence: VerifiedEvidence) {
        let parts = evidence.parts
        beginVerdict(isVerified: true, unwrapped: evidence.unwrapped)
        member("kind", parts.first?.name ?? "")
        trust(parts)
        endObject()
    }

    /// `{"file":…,"verified":false,"schema":1,"receipt":{…}}`: decoded and not verified. A JWS has its header, as
    /// received, and its parts as in a verdict; a part of no known kind is the member `payload`. An error is as in a
    /// verdict.
    package mutating func decoding(
        _ result: Result<UnverifiedEvidence, VerificationError>, from place: EvidencePlace? = nil,
        for audience: Audience = .swift
    ) {
        let unwrapped =
            switch result {
            case .success(let evidence): evidence.unwrapped
            case .failure(let error): error.unwrapped
            }
        beginVerdict(isVerified: false, place, unwrapped: unwrapped)
        switch result {
        case .success(let evidence):
            if let jws = evidence.jws {
                name("header")
                compact(jws.header.span)
            }
            write(evidence.parts)
        case .failure(let error):
            self.error(error, for: audience)
        }
        endObject()
    }

    /// `{"file":…,"verified":false,"schema":1,"error":{"code":…,"message":…}}` for an input that could not be read at
    /// all.
    package mutating func failure(_ fault: SurfaceFault, message: String, from place: EvidencePlace) {
        beginVerdict(isVerified: false, place)
        error(fault, message: message)
        endObject()
    }

    /// `"error":{"code":…,"message":…}`
    mutating func error(_ fault: SurfaceFault, message: String) {
        object("error") { writer in
            writer.member("code", fault.rawValue)
            writer.member("message", message)
        }
    }

    mutating func beginVerdict(
        isVerified: Bool, _ place: EvidencePlace? = nil, _ otherMembers: [UInt8] = [], unwrapped: [String] = []
    ) {
        beginObject()
        // They are in one member, so that they cannot be mistaken for members of the verdict.
        if !otherMembers.isEmpty {
            name("input")
            raw(otherMembers.span)
        }
        if let place { self.place(place) }
        member("verified", isVerified)
        member("schema", Self.schema)
        self.unwrapped(unwrapped)
    }

    /// `"unwrapped":["unity"]`: the names of the evidence's wrappers, outermost first; nothing without any.
    package mutating func unwrapped(_ names: [String]) {
        guard !names.isEmpty else { return }
        name("unwrapped")
        beginArray()
        for name in names { string(name) }
        endArray()
    }

    /// A member that says where a piece of evidence came from.
    mutating func place(_ place: EvidencePlace) {
        switch place {
        case .index(let index): member("index", index)
        case .file(let file): member("file", file)
        case .line(let number): member("line", number)
        }
    }

    /// `"error":{"code":…,"stage":…,"category":…,"message":…,"advice":…,"member":…,"found":…,"expected":…,
    /// "part":…,"offset":…,"offset_in":…,"form":…,"path":…}`:
    /// unknown values are left out, and so is what the policy expected if the audience may not know it. `offset` is
    /// `null` if the text with the fault was decoded.
    mutating func error(_ error: VerificationError, for audience: Audience) {
        let fault = error.fault
        object("error") { writer in
            writer.member("code", fault.code)
            writer.member("stage", fault.stage.rawValue)
            writer.member("category", fault.party.category.rawValue)
            writer.member("at_fault", fault.party.rawValue)
            writer.member("message", error.message(for: audience))
            writer.member("advice", fault.advice(for: audience))
            writer.member("member", ifAny: error.member)
            writer.member("found", ifAny: error.found)
            writer.member("expected", ifAny: error.expected(for: audience))
            writer.member("part", ifAny: error.part?.rawValue)
            if let offset = error.offset, let base = error.offsetBase {
                writer.member("offset", offset)
                writer.member("offset_in", base.rawValue)
            } else if error.isInDecodedText {
                writer.name("offset")
                writer.null()
            }
            writer.member("form", ifAny: error.armor?.rawValue)
            writer.member("path", ifAny: error.path)
        }
    }

    /// `"trust":{…}`, for the verification of the first part.
    private mutating func trust(_ parts: [EvidencePart]) {
        guard let verification = parts.first?.verification else { return }
        object("trust") { writer in
            writer.member("authority", verification.authority.rawValue)
            writer.name("anchor")
            writer.hex(verification.anchor.bytes.span)
            writer.name("signer")
            writer.hex(verification.signer.bytes.span)
            writer.member("signer_expires", verification.signerExpirationDate)
            writer.member("digest", verification.digest.rawValue)
            writer.member("validated_at", verification.validationDate)
            if verification.authority == .storeKitTesting {
                writer.member(
                    "note", "StoreKit Testing: everyone who has Xcode can sign this, so it authenticates nobody")
            }
        }
    }
}
