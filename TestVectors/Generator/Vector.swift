import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation

/// A file and the verdict on it.
struct Vector: Sendable {
    /// Below `TestVectors/`, named for the fault.
    let file: String
    let expected: Expected
    /// One sentence.
    let why: String
    /// The number in the list of what goes wrong elsewhere.
    let pitfall: String?
    /// What the input is made by.
    var base: [Step] = []
    /// What makes it faulty; without these steps it is accepted.
    var fault: [Step] = []

    enum Expected: Sendable {
        case accepted(purchases: Int)
        case refused(VerificationError.Stage, String, Place)
    }

    static func accepted(
        _ file: String, _ pitfall: String? = nil, purchases: Int = 2, _ why: String,
        _ base: Step...
    ) -> Vector {
        Vector(file: file, expected: .accepted(purchases: purchases), why: why, pitfall: pitfall, base: base)
    }

    static func refused(
        _ file: String, _ pitfall: String?, _ stage: VerificationError.Stage, _ code: String, _ place: Place,
        _ why: String,
        base: [Step] = [], _ fault: Step...
    ) -> Vector {
        Vector(
            file: file, expected: .refused(stage, code, place), why: why, pitfall: pitfall, base: base, fault: fault)
    }
}

/// A line of `expectations.json`.
struct VectorExpectation: Codable {
    var file: String
    /// `accepted` or `refused`.
    var verdict: String
    /// How many purchases an accepted receipt has.
    var purchases: Int?
    var code: String?
    var stage: String?
    /// In bytes from the start of the binary receipt, or of the text where the stage is `input`; absent where there is
    /// no place.
    var offset: Int?
    var why: String
    var pitfall: String?
    var verifier: VerifierOptions?

    init(_ vector: Vector, _ options: VerifierOptions, _ verdict: Verdict) {
        file = vector.file
        why = vector.why
        pitfall = vector.pitfall
        verifier = options == VerifierOptions() ? nil : options
        switch verdict {
        case .accepted(let purchases):
            self.verdict = "accepted"
            self.purchases = purchases
        case .refused(let code, let stage, let offset):
            self.verdict = "refused"
            self.code = code
            self.stage = stage
            self.offset = offset
        }
    }

    var expectedVerdict: Verdict {
        verdict == "accepted"
            ? .accepted(purchases: purchases ?? 0) : .refused(code: code ?? "", stage: stage ?? "", offset: offset)
    }
}
