@_spi(Surfaces) import AppStoreReceipt
import SignatureTrust
import StrictText

/// A piece of evidence with what is known about it.
struct ReportPiece: Sendable {
    let index: Int
    /// The name of its file, if it has one.
    let name: String?
    let bytes: [UInt8]
    let outcome: Decision.Piece.Outcome
    let verdict: Verdict
    /// The contents of a refused piece, as far as they can be read. ``areContentsSigned`` says whether they are signed.
    let decoded: UnverifiedEvidence?

    init(_ piece: Decision.Piece, _ index: Int, _ bytes: [UInt8]) {
        self.index = index
        self.bytes = bytes
        outcome = piece.outcome
        verdict = Verdict(piece.outcome)
        name = if case .file(let name) = piece.place { name } else { nil }
        decoded = if case .refused = outcome { try? UnverifiedEvidence(decoding: bytes) } else { nil }
    }

    var verified: VerifiedEvidence? { if case .verified(let evidence) = outcome { evidence } else { nil } }
    var refusal: VerificationError? { if case .refused(let error) = outcome { error } else { nil } }

    /// Whether the contents of a refused piece are signed: only the policy, the last check, refused it.
    var areContentsSigned: Bool { verdict == .notAccepted }

    var bundleID: String? {
        if let verified { return verified.bundleID }
        if let id = decoded?.receipt?.bundleID ?? decoded?.transactionReceipt?.bundleID { return id }
        return decoded?.parts.lazy.flatMap(\.fields).first {
            $0.name.hasSameBytes(as: "bundleId") || $0.name.hasSameBytes(as: "data.bundleId")
        }.flatMap { if case .string(let id) = $0.value { id } else { nil } }
    }

    /// The contents, then their signed parts; empty if they cannot be read.
    var parts: [EvidencePart] { verified?.parts ?? decoded?.parts ?? [] }

    var kind: Phrase { parts.first.map { $0.phrase ?? .storeKitJWS } ?? .unknownKind }

    /// The verification of a piece that was verified.
    var verification: SignerVerification? { parts.first?.verification }
}

extension EvidencePart {
    /// Its kind; `nil` for a kind without words in both languages.
    var phrase: Phrase? {
        switch name {
        case "receipt": .receipt
        case "transaction": .transaction
        case "renewal_info": .renewalInfo
        case "app_transaction": .appTransaction
        case "notification": .notification
        case "realtime_request": .realtimeRequest
        case "transaction_receipt": .transactionReceipt
        default: nil
        }
    }
}

/// The outcome for a piece, for people, from the party at fault and the stage of its error.
enum Verdict: Sendable, Hashable {
    case accepted
    /// Genuine, but the policy does not accept it.
    case notAccepted
    /// Not signed by a trusted signer.
    case notGenuine
    /// Not evidence in any form that can be checked.
    case notEvidence
    /// Signed, but the contents cannot be read.
    case signedUnreadable
    /// The notification is signed, but a part of it is refused.
    case partRefused
    /// The verifier or the host is at fault.
    case notChecked
    /// The file cannot be read.
    case notRead

    init(_ outcome: Decision.Piece.Outcome) {
        switch outcome {
        case .verified: self = .accepted
        case .unreadable: self = .notRead
        case .refused(let error): self.init(error)
        }
    }

    private init(_ error: VerificationError) {
        if error.part != nil, error.fault.party != .host {
            self = .partRefused
            return
        }
        switch (Check(of: error), error.fault.party) {
        case (.policy, _): self = .notAccepted
        case (.payload, _): self = .signedUnreadable
        case (nil, _), (_, .host), (_, .configuration): self = .notChecked
        case (_, .forger): self = .notGenuine
        case (_, .client), (_, .library): self = .notEvidence
        }
    }

    /// The color of the verdict.
    var style: Style {
        switch self {
        case .accepted: .good
        case .notAccepted, .signedUnreadable, .partRefused: .warn
        case .notGenuine, .notEvidence: .bad
        case .notChecked, .notRead: .unknown
        }
    }
}

/// The checks, in the order of the verifier.
enum Check: Int, CaseIterable, Sendable {
    case form, structure, signature, date, chain, payload, policy

    /// The check that an error failed; `nil` if the evidence is not at fault.
    init?(of error: VerificationError) {
        switch error.stage {
        case .input, .form: self = .form
        case .container, .header: self = .structure
        case .signature: self = .signature
        case .date: self = .date
        case .chain: self = .chain
        case .payload: self = .payload
        case .policy: self = .policy
        // The policy lacks the value to compare; all earlier checks have passed.
        case .verifier where error.code == .noAppAppleID: self = .policy
        default: return nil
        }
    }

    var name: Phrase {
        switch self {
        case .form: .checkForm
        case .structure: .checkStructure
        case .signature: .checkSignature
        case .date: .checkDate
        case .chain: .checkChain
        case .payload: .checkPayload
        case .policy: .checkPolicy
        }
    }

    var about: Phrase {
        switch self {
        case .form: .aboutForm
        case .structure: .aboutStructure
        case .signature: .aboutSignature
        case .date: .aboutDate
        case .chain: .aboutChain
        case .payload: .aboutPayload
        case .policy: .aboutPolicy
        }
    }
}
