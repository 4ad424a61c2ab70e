@_spi(Surfaces) package import AppStoreReceipt
import LibcryptoHandles
import StrictText

/// A request to redeem evidence, and its answer.
package struct Attempt: Sendable {
    /// The maximum number of outcomes to store. Further ones are only counted.
    package static let maximumOutcomeCount = 20

    /// The outcome of a transaction.
    package struct Outcome: Sendable {
        /// The transaction's name, or `nil` if the evidence contains no app or environment.
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
    /// The ``EvidenceDigest`` of the submitted bytes.
    package let digest: String
    /// The ``EvidenceDigest`` of the evidence within them.
    package let evidenceDigest: String
    /// The submitted bytes, if they are to be kept.
    package var evidence: [UInt8]?
    /// `ok`, or the code of the refusal.
    package let code: String
    package let outcomes: [Outcome]
    package let transactionCount: Int
    /// The `sequence` of the answer to the account, or an earlier one. A deletion has a greater one than all requests
    /// before it. `nil` for the log's latest number when it is added.
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

    /// Returns `nil` if the account can't be stored, or if this host can't compute a digest.
    ///
    /// - Parameters:
    ///   - isWrapped: Whether the evidence was contained in something else.
    ///   - count: The number of transactions. `outcomes` has only the first ones.
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

    /// The stored form of the outcomes: `[["production","com.example.app","340000000000001","granted"]]`. For an
    /// outcome without a name, the first two texts are empty.
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

    /// Returns whether the account submitted the same evidence and got the same answer.
    func isRepetition(of other: Attempt) -> Bool {
        evidenceDigest.hasSameBytes(as: other.evidenceDigest) && code.hasSameBytes(as: other.code)
            && outcomes.elementsEqual(other.outcomes) { own, other in
                own.name == other.name && own.transactionID.hasSameBytes(as: other.transactionID)
                    && own.outcome.hasSameBytes(as: other.outcome)
            }
    }
}

/// The digest of evidence or of submitted bytes: the SHA-256, in hexadecimal, of the bytes without surrounding white
/// space.
package enum EvidenceDigest {
    /// Returns `nil` if this host can't compute the digest.
    package static func text(of evidence: [UInt8]) -> String? {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || 0x09...0x0D ~= byte }
        let begin = evidence.firstIndex { !isSpace($0) } ?? 0
        let end = evidence.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? 0
        let digest = try? DigestAlgorithm.sha256.digest(of: evidence.span.extracting(begin..<max(begin, end)))
        return digest?.hexadecimal
    }
}
