import StrictText

extension BatchVerdict {
    /// The verdict as one line of JSON, which `receipt batch` prints, too.
    ///
    /// It is the object of ``VerifiedEvidence/json`` or ``VerificationError/json``. If the piece has ``otherMembers``,
    /// they are in the object's first member, `input`.
    public var json: String { JSONWriter.text { $0.verdict(self, isBrief: false) } }

    /// The verdict as one line of JSON with only `verified`, `bundle_id`, `environment` (the raw value of
    /// ``AppStoreEnvironment``) and `transaction_ids`, if the evidence has them. A refusal is as in ``json``.
    public var briefJSON: String { JSONWriter.text { $0.verdict(self, isBrief: true) } }
}

extension JSONWriter {
    package mutating func verdict(
        _ verdict: BatchVerdict, isBrief: Bool, from place: EvidencePlace? = nil,
        for audience: Audience = .swift
    ) {
        if isBrief, case .success(let evidence) = verdict.result {
            brief(evidence, place, verdict.otherBytes)
        } else {
            self.verdict(verdict.result, from: place, otherMembers: verdict.otherBytes, for: audience)
        }
    }

    private mutating func brief(_ evidence: VerifiedEvidence, _ place: EvidencePlace?, _ otherMembers: [UInt8]) {
        beginVerdict(isVerified: true, place, otherMembers, unwrapped: evidence.unwrapped)
        member("bundle_id", ifAny: evidence.bundleID)
        member("environment", ifAny: evidence.environment?.rawValue)
        name("transaction_ids")
        beginArray()
        if case .receipt(let receipt) = evidence {
            // Their bytes, without a String of each.
            for purchase in receipt.inAppPurchases {
                if let id = purchase.octets(.transactionID) { string(utf8: id.span) }
            }
        } else {
            for id in evidence.transactionIDs { string(id) }
        }
        endArray()
        endObject()
    }
}
