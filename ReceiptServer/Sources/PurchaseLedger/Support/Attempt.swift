@_spi(Surfaces) package import AppStoreReceipt
import LibcryptoHandles
import StrictText

/// A request to redeem evidence, and what it was answered.
package struct Attempt: Sendable {
    /// More are counted, and not named.
    package static let maximumOutcomeCount = 20

    /// What became of a transaction.
    package struct Outcome: Sendable {
        /// `nil` if the evidence does not name an app and an environment.
        package let name: TransactionName?
        package let transactionID: String
        package let outcome: String

        package init(name: TransactionName?, transactionID: String, outcome: String) {
            (self.name, self.transactionID, self.outcome) = (name, transactionID, outcome)
        }
    }

    package let requestID: String
    package let account: String
    package let at: Instant
    /// By ``EvidenceDigest``, of what was sent.
    package let digest: String
    /// By ``EvidenceDigest``, of the evidence in what was sent.
    package let evidenceDigest: String
    /// What was sent, if it is to be kept.
    package var evidence: [UInt8]?
    /// `ok`, or the code of the refusal.
    package let code: String
    package let outcomes: [Outcome]
    package let transactionCount: Int
    /// The `sequence` with which the account was answered, or one from before: a deletion has a greater one than all
    /// before it. `nil` if nothing is known, as of what was sent just now.
    package var order: Int64?
    var times: Int64 = 1

    package init?(
        _ requestID: String, of account: String, _ evidence: [UInt8], isWrapped: Bool = false, code: String,
        _ outcomes: [TransactionOutcome] = [], order: Int64? = nil, at now: Instant
    ) {
        let named = outcomes.prefix(Self.maximumOutcomeCount).map { outcome in
            var name: TransactionName?
            if let environment = outcome.environment, let bundleID = outcome.bundleID {
                name = TransactionName(
                    environment: environment, bundleID: bundleID, transactionID: outcome.transactionID)
            }
            return Outcome(name: name, transactionID: outcome.transactionID, outcome: outcome.outcome.rawValue)
        }
        self.init(
            requestID, of: account, evidence, isWrapped: isWrapped, code: code, named, of: outcomes.count, at: now)
        self.order = order
    }

    /// Returns `nil` for an account that the tables cannot hold, and if this host cannot compute a digest.
    ///
    /// - Parameters:
    ///   - isWrapped: Whether the evidence was in something else.
    ///   - count: The number of transactions; `outcomes` has the first ones.
    package init?(
        _ requestID: String, of account: String, _ evidence: [UInt8], isWrapped: Bool = false, code: String,
        _ outcomes: [Outcome], of count: Int, at now: Instant
    ) {
        guard LedgerText.isStorable(account), let digest = EvidenceDigest.text(of: evidence),
            let evidenceDigest = isWrapped
                ? EvidenceDigest.text(of: UnverifiedEvidence.bytes(in: evidence)) : digest
        else { return nil }
        (self.requestID, self.account, self.digest, self.evidence) = (requestID, account, digest, evidence)
        self.evidenceDigest = evidenceDigest
        (self.code, self.outcomes, transactionCount, at) = (code, outcomes, count, now)
    }

    /// What is stored of the outcomes: `[["production","com.example.app","340000000000001","granted"]]`. An outcome
    /// without a name has its first two texts empty.
    var outcomesJSON: String {
        var writer = JSONWriter(capacity: 128)
        writer.beginArray()
        for outcome in outcomes {
            writer.beginArray()
            writer.string(outcome.name?.environment.rawValue ?? "")
            writer.string(outcome.name?.bundleID ?? "")
            writer.string(outcome.transactionID)
            writer.string(outcome.outcome)
            writer.endArray()
        }
        writer.endArray()
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    static func outcomes(_ json: String) throws(LedgerError) -> [Outcome] {
        let rows: [[String]] = try StoredJSON.decode(json)
        return rows.compactMap { texts in
            guard texts.count == 4 else { return nil }
            return Outcome(
                name: AppStoreEnvironment(rawValue: texts[0]).map {
                    TransactionName(environment: $0, bundleID: texts[1], transactionID: texts[2])
                }, transactionID: texts[2], outcome: texts[3])
        }
    }

    /// Whether the account sent the same evidence and got the same answer.
    func isRepetition(of other: Attempt) -> Bool {
        evidenceDigest.hasSameBytes(as: other.evidenceDigest) && code.hasSameBytes(as: other.code)
            && outcomes.elementsEqual(other.outcomes) { own, other in
                own.name == other.name && own.transactionID.hasSameBytes(as: other.transactionID)
                    && own.outcome.hasSameBytes(as: other.outcome)
            }
    }
}

/// The digest of evidence, or of what was sent: the SHA-256, in hexadecimal, of its bytes without white space at its
/// ends.
package enum EvidenceDigest {
    /// Returns `nil` if this host cannot compute it.
    package static func text(of evidence: [UInt8]) -> String? {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0D ~= byte }
        let begin = evidence.firstIndex { !isSpace($0) } ?? 0
        let end = evidence.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? 0
        let digest = try? DigestAlgorithm.sha256.digest(of: evidence.span.extracting(begin..<max(begin, end)))
        return digest?.hexadecimal
    }
}
