import StrictText

extension BatchVerdict {
    /// The object of ``VerifiedEvidence/json`` or ``VerificationError/json`` on one line, which `receipt batch` prints too. Where the piece had
    /// ``otherMembers``, they are the value of its first member, `input`: nothing that a sender wrote stands beside the verdict.
    ///
    /// - Parameter isBrief: whether it says only whether it is verified, and `bundle_id`, `environment` (as ``AppStoreEnvironment``) and
    ///   `transaction_ids`, where it has them.
    public func json(isBrief: Bool = false) -> String {
        var writer = JSONWriter()
        writer.verdict(self, isBrief: isBrief)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}

extension JSONWriter {
    package mutating func verdict(_ verdict: BatchVerdict, isBrief: Bool) {
        if isBrief, case .success(let evidence) = verdict.result {
            brief(evidence, otherMembers: verdict.otherMembers)
        } else {
            self.verdict(verdict.result, file: nil, otherMembers: verdict.otherMembers)
        }
    }

    private mutating func brief(_ evidence: VerifiedEvidence, otherMembers: [UInt8]) {
        beginVerdict(isVerified: true, nil, otherMembers)
        if let bundleID = evidence.bundleID {
            name("bundle_id")
            string(bundleID)
        }
        if let environment = evidence.environment {
            name("environment")
            string(environment.rawValue)
        }
        name("transaction_ids")
        beginArray()
        for id in evidence.transactionIDs { string(id) }
        endArray()
        endObject()
    }
}
