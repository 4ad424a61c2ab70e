import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import SignatureTrust

/// A JWS and the verdict on it; a faulty one is accepted when its fault is undone.
struct JWSVector: Sendable {
    /// Of the file in `TestVectors/jws/`, without `.jws`; named for the fault.
    let name: String
    let expected: JWSVerdict
    /// One sentence.
    let why: String
    /// What it is made by.
    var base: [JWSStep] = []
    /// What makes it faulty.
    var fault: [JWSStep] = []

    static func accepted(
        _ name: String, _ kinds: JWSKind..., why: String, _ base: [JWSStep]
    ) -> JWSVector {
        JWSVector(name: name, expected: .accepted(kinds: kinds.map(\.rawValue)), why: why, base: base)
    }

    static func refused(
        _ name: String, _ stage: VerificationError.Stage, _ code: String, in part: VerificationError.Part? = nil,
        _ why: String, base: [JWSStep] = [], _ fault: JWSStep...
    ) -> JWSVector {
        JWSVector(
            name: name, expected: .refused(code: code, stage: stage.rawValue, part: part?.rawValue), why: why,
            base: base, fault: fault)
    }

    /// All files by name, and what is wrong with the vectors.
    static func generate(
        with forge: Forge, _ anchors: [String: [UInt8]]
    ) throws -> (files: [String: [UInt8]], problems: [String]) {
        var files: [String: [UInt8]] = [:]
        var expectations: [JWSExpectation] = []
        var problems: [String] = []
        for vector in all {
            func judge(_ steps: [JWSStep]) throws -> (text: [UInt8], options: VerifierOptions, verdict: JWSVerdict) {
                let text = Array(try forge.jws(steps).utf8)
                let options = forge.options(steps)
                let verifier = try options.verifier(defaultRoot: "ec-root.der") { anchors[$0] ?? [] }
                return (text, options, JWSVerdict(text, verifier))
            }
            let (text, options, verdict) = try judge(vector.base + vector.fault)
            if verdict != vector.expected {
                problems.append("\(vector.name): \(verdict) instead of \(vector.expected)")
            }
            if !vector.fault.isEmpty, case .refused(let code, _, _) = try judge(vector.base).verdict {
                problems.append("\(vector.name): without its fault \(code)")
            }
            let file = "jws/\(vector.name).jws"
            if files.updateValue(text, forKey: file) != nil { problems.append("\(file): twice") }
            expectations.append(JWSExpectation(file, vector, options))
        }
        expectations.sort { $0.file < $1.file }
        files["jws/expectations.json"] = Array(try GenerateVectors.json(expectations).utf8)
        files["jws/signatures.json"] = forge.signatures.contents
        return (files, problems)
    }
}

/// What a verifier says of a JWS.
enum JWSVerdict: Hashable {
    /// What was signed, and what was signed within it.
    case accepted(kinds: [String])
    case refused(code: String, stage: String, part: String?)

    init(_ text: [UInt8], _ verifier: AppStoreVerifier) {
        do throws(VerificationError) {
            let received = ReceivedEvidence(compactJWS: text.span)
            self = .accepted(kinds: try verifier.verify(received, in: text.span).parts.map(\.name))
        } catch {
            self = .refused(code: error.code.rawValue, stage: error.stage.rawValue, part: error.part?.rawValue)
        }
    }
}

/// A line of `jws/expectations.json`.
struct JWSExpectation: Codable {
    var file: String
    /// `accepted` or `refused`.
    var verdict: String
    /// The kind of accepted evidence, and those of its signed parts.
    var kinds: [String]?
    var code: String?
    var stage: String?
    /// Which signed part of a notification is at fault.
    var part: String?
    var why: String
    var verifier: VerifierOptions?

    init(_ file: String, _ vector: JWSVector, _ options: VerifierOptions) {
        self.file = file
        why = vector.why
        verifier = options == VerifierOptions() ? nil : options
        switch vector.expected {
        case .accepted(let kinds):
            verdict = "accepted"
            self.kinds = kinds
        case .refused(let code, let stage, let part):
            verdict = "refused"
            (self.code, self.stage, self.part) = (code, stage, part)
        }
    }

    var expectedVerdict: JWSVerdict {
        verdict == "accepted"
            ? .accepted(kinds: kinds ?? []) : .refused(code: code ?? "", stage: stage ?? "", part: part)
    }
}
