import AppStoreReceiptTesting
import CMSTrust
import Foundation
import SignatureTrust
import SpanASN1

/// A signed message other than a receipt, what `CMSVerifier` is given beside it, and the verdict; a faulty one is
/// accepted when its fault is undone.
struct CMSVector: Sendable {
    typealias Change = @Sendable (inout CMSRecipe, Forge) throws -> Void

    /// Of the file in `TestVectors/cms/`, without `.der`; named for the fault.
    let name: String
    let expected: CMSVerdict
    /// One sentence.
    let why: String
    /// What it is made by.
    var base: [Change] = []
    /// What makes it faulty.
    var fault: [Change] = []

    static func accepted(_ name: String, _ why: String, _ base: Change...) -> CMSVector {
        CMSVector(name: name, expected: .accepted, why: why, base: base)
    }

    static func refused(
        _ name: String, _ stage: CMSVerdict.Stage, _ code: String, _ why: String, base: [Change] = [],
        _ fault: Change...
    ) -> CMSVector {
        CMSVector(
            name: name, expected: .refused(code: code, stage: stage.rawValue), why: why, base: base, fault: fault)
    }

    static let all = revocation + paths + forms

    /// All files by name, and what is wrong with the vectors.
    static func generate(
        with forge: Forge, _ anchors: [String: [UInt8]]
    ) throws -> (files: [String: [UInt8]], problems: [String]) {
        var files: [String: [UInt8]] = [:]
        var expectations: [CMSExpectation] = []
        var problems: [String] = []
        func add(_ file: String, _ contents: [UInt8]) {
            if let other = files.updateValue(contents, forKey: file), other != contents {
                problems.append("\(file): twice, with other contents")
            }
        }
        for vector in all {
            func judge(_ changes: [Change]) throws -> (message: [UInt8], recipe: CMSRecipe, verdict: CMSVerdict) {
                var recipe = CMSRecipe(forge.authority)
                for change in changes { try change(&recipe, forge) }
                let message = try recipe.message()
                let verdict = try recipe.options.verdict(on: message) { name in
                    recipe.files[name] ?? anchors[name] ?? []
                }
                return (message, recipe, verdict)
            }
            let (message, recipe, verdict) = try judge(vector.base + vector.fault)
            if verdict != vector.expected {
                problems.append("cms/\(vector.name): \(verdict) instead of \(vector.expected)")
            }
            if !vector.fault.isEmpty, case .refused(let code, _) = try judge(vector.base).verdict {
                problems.append("cms/\(vector.name): without its fault \(code)")
            }
            let file = "cms/\(vector.name).der"
            if files[file] != nil { problems.append("\(file): twice") }
            add(file, message)
            for (name, contents) in recipe.files { add("cms/" + name, contents) }
            expectations.append(CMSExpectation(file, vector, recipe.options))
        }
        expectations.sort { $0.file < $1.file }
        files["cms/expectations.json"] = Array(try GenerateVectors.json(expectations).utf8)
        return (files, problems)
    }
}

/// A message by the leaf of an authority, and what a verifier is given; all of it can be changed.
struct CMSRecipe: Sendable {
    static let date = JWSBuilder.defaultDate
    static let text = Array("Whoever signs this signs only a test.".utf8)

    let authority: TestCertificateAuthority
    var builder: SignedDataBuilder
    var options = CMSOptions()
    /// Certificates and lists of the verifier's, by their names in `TestVectors/cms/`.
    var files: [String: [UInt8]] = [:]
    /// Changes the message after it was signed.
    var tree: @Sendable (inout Node) -> Void = { _ in }

    init(_ authority: TestCertificateAuthority) {
        self.authority = authority
        var signer = SignedDataBuilder.Signer(authority.leaf)
        signer.signedAttributes = SignedDataBuilder.SignedAttribute.required
        builder = SignedDataBuilder(content: Self.text, certificates: authority.certificates, signers: [signer])
    }

    func message() throws -> [UInt8] {
        var message = Node(try builder.encoded())
        tree(&message)
        return message.encoded
    }
}

/// The verifier that a message is for; what is not said is a policy with `authority/root.der` as its anchor and the
/// defaults in all else, at 2025-06-15T12:00:00Z.
struct CMSOptions: Codable, Hashable, Sendable {
    /// Files in `authority/` or `cms/`, as are the others.
    var roots: [String]?
    /// Certificates to build chains with.
    var certificates: [String]?
    /// Revocation lists.
    var lists: [String]?
    /// Which certificates the lists must cover: `signer` or `chain`.
    var revocation: String?
    var allowsSHA1: Bool?
    /// The purposes that the signer must state, as OBJECT IDENTIFIERs.
    var purposes: [String]?

    func policy(contents: (_ file: String) throws -> [UInt8]) throws -> CMSPolicy {
        var policy = CMSPolicy(anchors: try (roots ?? ["root.der"]).map { try TrustAnchor(der: contents($0)) })
        policy.additionalCertificates = try (certificates ?? []).map(contents)
        policy.revocationLists = try (lists ?? []).map(contents)
        policy.algorithms.allowsSHA1 = allowsSHA1 ?? false
        policy.purposes = Set((purposes ?? []).compactMap { ASN1ObjectIdentifier($0) })
        switch revocation {
        case "signer": policy.revocation = .signer
        case "chain": policy.revocation = .chain
        default: policy.revocation = .none
        }
        return policy
    }

    func verdict(on message: [UInt8], contents: (_ file: String) throws -> [UInt8]) throws -> CMSVerdict {
        let policy = try policy(contents: contents)
        let verifier: CMSVerifier
        do throws(CMSVerificationError) {
            verifier = try CMSVerifier(policy: policy)
        } catch {
            return .refused(code: error.code.rawValue, stage: CMSVerdict.Stage.verifier.rawValue)
        }
        do throws(CMSVerificationError) {
            _ = try verifier.verify(message, at: CMSRecipe.date)
            return .accepted
        } catch {
            let stage: CMSVerdict.Stage = if case .structure = error.reason { .structure } else { .trust }
            return .refused(code: error.code.rawValue, stage: stage.rawValue)
        }
    }
}

/// What a verifier says of a message.
enum CMSVerdict: Hashable, Sendable {
    enum Stage: String {
        /// No verifier is made of what it is given.
        case verifier
        case structure, trust
    }

    case accepted
    case refused(code: String, stage: String)
}

/// A line of `cms/expectations.json`.
struct CMSExpectation: Codable {
    var file: String
    /// `accepted` or `refused`.
    var verdict: String
    var code: String?
    var stage: String?
    var why: String
    var verifier: CMSOptions?

    init(_ file: String, _ vector: CMSVector, _ options: CMSOptions) {
        self.file = file
        why = vector.why
        verifier = options == CMSOptions() ? nil : options
        switch vector.expected {
        case .accepted: verdict = "accepted"
        case .refused(let code, let stage):
            verdict = "refused"
            (self.code, self.stage) = (code, stage)
        }
    }

    var expectedVerdict: CMSVerdict {
        verdict == "accepted" ? .accepted : .refused(code: code ?? "", stage: stage ?? "")
    }
}
