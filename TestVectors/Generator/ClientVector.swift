import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation
import StrictText

/// What a client sends instead of evidence or around it, and the verdict on it.
struct ClientVector: Sendable {
    /// The evidence that clients have, as they have it.
    struct Evidence: Sendable {
        let binary: [UInt8]
        let receipt: String
        let jws: String
        let otherJWS: String
        let transactionReceipt: String
    }

    /// Of the file in `TestVectors/clients/`.
    let name: String
    let expected: ClientVerdict
    /// The code of version 0.2, or the kind that it verified.
    let before: String
    /// One sentence.
    let why: String
    let make: @Sendable (Evidence) -> [UInt8]

    static func accepted(
        _ name: String, _ unwrapped: String..., kind: String = "receipt", before: String, _ why: String,
        _ make: @escaping @Sendable (Evidence) -> String
    ) -> ClientVector {
        ClientVector(name: name, expected: ClientVerdict(kind: kind, unwrapped: unwrapped), before: before, why: why) {
            Array(make($0).utf8)
        }
    }

    static func refused(
        _ name: String, _ code: String, _ unwrapped: String..., path: String? = nil, found: String? = nil,
        expected: String? = nil, before: String, _ why: String, _ make: @escaping @Sendable (Evidence) -> String
    ) -> ClientVector {
        let verdict = ClientVerdict(
            unwrapped: unwrapped, code: code, path: path, found: found, expected: expected)
        return ClientVector(name: name, expected: verdict, before: before, why: why) { Array(make($0).utf8) }
    }

    /// The verifier of all of them.
    static let options = VerifierOptions(
        roots: ["root.der", "ec-root.der"], allowsRSA1024: true, issuers: ["itunes-store.der", "intermediate.der"])

    /// All files by name, and what is wrong with the vectors.
    static func generate(
        with forge: Forge, _ anchors: [String: [UInt8]]
    ) throws -> (files: [String: [UInt8]], problems: [String]) {
        let binary = try forge.make([])
        let transactionReceipt = try forge.transactionReceipt([])
        let evidence = try Evidence(
            binary: binary, receipt: Base64.encode(binary.span), jws: forge.jws([]),
            otherJWS: forge.jws([.member("transactionId", "200000000000002")]),
            transactionReceipt: Base64.encode(transactionReceipt.span))
        let verifier = try options.verifier { anchors[$0] ?? [] }
        var files: [String: [UInt8]] = [:]
        var expectations: [ClientExpectation] = []
        var problems: [String] = []
        for vector in all {
            let text = vector.make(evidence)
            let verdict = ClientVerdict.of(text, by: verifier)
            if verdict != vector.expected {
                problems.append("\(vector.name): \(verdict) instead of \(vector.expected)")
            }
            let file = "clients/\(vector.name)"
            if files.updateValue(text, forKey: file) != nil { problems.append("\(file): twice") }
            expectations.append(ClientExpectation(file, vector))
        }
        expectations.sort { $0.file < $1.file }
        files["clients/expectations.json"] = Array(try GenerateVectors.json(expectations).utf8)
        return (files, problems)
    }
}

/// What a verifier says of what a client sent.
struct ClientVerdict: Hashable, Codable {
    /// What was verified: the member of the JSON.
    var kind: String?
    var unwrapped: [String] = []
    var code: String?
    var path: String?
    var found: String?
    var expected: String?
}

extension ClientVerdict {
    static func of(_ text: [UInt8], by verifier: AppStoreVerifier) -> ClientVerdict {
        var verdict = ClientVerdict()
        switch Result(catching: { () throws(VerificationError) in try verifier.verify(text) }) {
        case .success(let evidence):
            (verdict.kind, verdict.unwrapped) = (evidence.parts.first?.name, evidence.unwrapped)
        case .failure(let error):
            (verdict.code, verdict.unwrapped, verdict.path) = (error.code.rawValue, error.unwrapped, error.path)
            (verdict.found, verdict.expected) = (error.found, error.expected)
        }
        return verdict
    }
}

/// A line of `clients/expectations.json`.
struct ClientExpectation: Codable {
    var file: String
    /// `accepted` or `refused`.
    var verdict: String
    var kind: String?
    var unwrapped: [String]?
    var code: String?
    var path: String?
    var found: String?
    var expected: String?
    var before: String
    var why: String

    init(_ file: String, _ vector: ClientVector) {
        self.file = file
        let expected = vector.expected
        verdict = expected.code == nil ? "accepted" : "refused"
        (kind, code, path) = (expected.kind, expected.code, expected.path)
        (found, self.expected) = (expected.found, expected.expected)
        unwrapped = expected.unwrapped.isEmpty ? nil : expected.unwrapped
        (before, why) = (vector.before, vector.why)
    }

    var expectedVerdict: ClientVerdict {
        ClientVerdict(
            kind: kind, unwrapped: unwrapped ?? [], code: code, path: path, found: found, expected: expected)
    }
}
