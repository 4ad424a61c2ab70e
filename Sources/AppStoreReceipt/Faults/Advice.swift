/// What to do about a fault: sentences that name settings and leave their words to the surface.
struct Advice: ExpressibleByArrayLiteral, ExpressibleByStringInterpolation, Sendable {
    private let sentences: [Sentence]

    init(arrayLiteral sentences: Sentence...) { self.sentences = sentences }
    init(stringLiteral text: String) { sentences = [Sentence(stringLiteral: text)] }
    init(stringInterpolation words: Sentence.StringInterpolation) {
        sentences = [Sentence(stringInterpolation: words)]
    }

    /// Returns the sentences that apply to an audience, in its words. Omits those that name a setting which the
    /// audience's surface does not have.
    func text(for audience: Audience) -> String {
        sentences.compactMap { $0.text(for: audience) }.joined(separator: " ")
    }

    /// One or more sentences that are said together or not at all.
    struct Sentence: ExpressibleByStringInterpolation, Sendable {
        fileprivate enum Piece: Sendable {
            case words(String)
            case change(Change)
        }

        fileprivate let pieces: [Piece]
        fileprivate var applies: @Sendable (Audience) -> Bool = { _ in true }

        init(stringLiteral text: String) { pieces = [.words(text)] }
        init(stringInterpolation words: StringInterpolation) { pieces = words.pieces }

        struct StringInterpolation: StringInterpolationProtocol {
            fileprivate var pieces: [Piece] = []

            init(literalCapacity: Int, interpolationCount: Int) {}
            mutating func appendLiteral(_ text: String) { pieces.append(.words(text)) }
            mutating func appendInterpolation(_ change: Change) { pieces.append(.change(change)) }
        }

        /// A sentence for verifiers that trust `trust`.
        static func `if`(_ trust: Audience.Trust, _ sentence: Sentence) -> Sentence {
            sentence.when { $0.trust == trust }
        }

        /// A sentence for all verifiers but those that trust `trust`.
        static func unless(_ trust: Audience.Trust, _ sentence: Sentence) -> Sentence {
            sentence.when { $0.trust != trust }
        }

        /// A sentence for verifiers that may validate certificates at another date than that of signing.
        static func ifDated(_ sentence: Sentence) -> Sentence { sentence.when(\.mayHaveValidationDate) }

        /// A sentence for verifiers that validate certificates at the date of signing.
        static func unlessDated(_ sentence: Sentence) -> Sentence { sentence.when { !$0.mayHaveValidationDate } }

        /// A sentence about what only the Swift API has: limits, algorithms and methods.
        static func inSwift(_ sentence: Sentence) -> Sentence { sentence.when { $0.surface == .swift } }

        /// A sentence for the person who runs the command.
        static func inCommand(_ sentence: Sentence) -> Sentence { sentence.when { $0.surface == .command } }

        /// A sentence for everybody except the person who runs the command.
        static func beyondCommand(_ sentence: Sentence) -> Sentence { sentence.when { $0.surface != .command } }

        private func when(_ condition: @escaping @Sendable (Audience) -> Bool) -> Sentence {
            var sentence = self
            sentence.applies = condition
            return sentence
        }

        fileprivate func text(for audience: Audience) -> String? {
            guard applies(audience) else { return nil }
            var text = ""
            for piece in pieces {
                switch piece {
                case .words(let words): text += words
                case .change(let change):
                    guard let words = change.words(for: audience) else { return nil }
                    text += words
                }
            }
            return text
        }
    }

    /// A change of a setting, as a clause such as "pass its bundle id with --bundle-id".
    enum Change: Sendable {
        /// Passes what the words describe.
        case pass(VerifierSetting, String)
        /// Passes exactly this.
        case set(VerifierSetting, String)
        case use(VerifierSetting)
        case omit(VerifierSetting)
        /// The name alone.
        case name(VerifierSetting)

        fileprivate func words(for audience: Audience) -> String? {
            let setting =
                switch self {
                case .pass(let setting, _), .set(let setting, _), .use(let setting), .omit(let setting),
                    .name(let setting):
                    setting
                }
            guard var name = setting.name(on: audience.surface) else { return nil }
            let isFlag = audience.surface == .command || audience.surface == .server
            if !isFlag { name = "`\(name)`" }
            let actor = audience.isClient ? "have the operator of the server " : ""
            return switch self {
            case .pass(_, let value): "\(actor)pass \(value) \(isFlag ? "with" : "as") \(name)"
            case .set(_, let value): isFlag ? "\(actor)pass \(name) \(value)" : "\(actor)pass `\(value)` as \(name)"
            case .use: "\(actor)use \(name)"
            case .omit: "\(actor)omit \(name)"
            case .name: name
            }
        }
    }
}

extension Surface {
    /// The languages whose bindings say their name.
    @_spi(Surfaces) public static let bindings: [Surface] = [.python, .php, .java, .node, .go]
}

/// Whom advice is for: the surface whose names it uses, and what is known of the verifier.
@_spi(Surfaces) public struct Audience: Sendable {
    /// The authorities whose signatures the verifier accepts.
    package enum Trust: Sendable { case unknown, apple, roots, storeKitTesting }

    package let surface: Surface
    /// Whether the settings are somebody else's: those of the server that the client asked.
    let isClient: Bool
    /// Whether it may learn what the settings accept, such as the apps of a server.
    let mayKnowSettings: Bool
    let trust: Trust
    /// Whether the verifier may validate certificates at another date than that of signing.
    let mayHaveValidationDate: Bool

    package init(
        _ surface: Surface, isClient: Bool = false, mayKnowSettings: Bool = true, trust: Trust = .unknown,
        hasValidationDate: Bool? = nil
    ) {
        self.surface = surface
        self.isClient = isClient
        self.mayKnowSettings = mayKnowSettings
        self.trust = trust
        mayHaveValidationDate = hasValidationDate ?? (VerifierSetting.validationDate.name(on: surface) != nil)
    }

    /// Those who make verifiers on a surface.
    @_spi(Surfaces) public static func user(of surface: Surface) -> Audience { Audience(surface) }
    /// The clients of the server that have a token. They cannot change its settings.
    @_spi(Surfaces) public static let httpClient = Audience(.server, isClient: true)
    /// Everybody who can reach the server.
    @_spi(Surfaces) public static let httpStranger = Audience(.server, isClient: true, mayKnowSettings: false)
    package static let swift = Audience(.swift)
}

extension Advice {
    static let belowLimits: Advice = [
        "Apple's evidence is far below the limits. Have the client send it alone and unchanged.",
        .inSwift("If you expect more, raise `VerificationLimits`."),
    ]
    static let unchangedEvidence: Advice =
        "Have the client send the receipt, its base64, or the JWS of StoreKit 2, unchanged."
    static func cutOff(_ cut: Truncation.Cut?) -> Advice {
        let advice =
            "Something between the client and here limits the length. Raise the limit, and have the client send the evidence again."
        guard let cut else { return Advice(stringLiteral: advice) }
        return Advice(stringLiteral: "\(advice) \(cut.text).")
    }
    static let unchangedReceipt: Advice =
        "Have the client send the receipt or its base64 unchanged. In a form, percent-encode `+`."
    static let damagedReceipt: Advice =
        "The receipt was damaged or cut off in transit, or is not a receipt. Have the app refresh its receipt and send it again."
    static let unchangedTransactionReceipt: Advice =
        "Have the client send `transactionReceipt` or its base64 unchanged."
    static let unsigned: Advice =
        "Without a signature and what it signs, nothing is proved. Refuse the evidence. Have the client send `transactionReceipt` unchanged."
    static let anotherKind: Advice = [
        "The JWS is of another kind than the one that is accepted here. Have the client send that kind.",
        .inSwift("To accept every kind, use `verify(_:)`."),
    ]
    static let unreadableContents: Advice =
        "Apple signed something that this version of the library cannot read. Keep the evidence, look for a newer version, and report the error."
    static let unchangedJWS: Advice =
        "Pass what StoreKit or Apple's server gave as a JWS, such as `jwsRepresentation` or `signedPayload`, unchanged."
    static let foreignStructure: Advice =
        "Apple does not build receipts like this. Have the app refresh its receipt, and log who sent this one."
    static let foreignSignature: Advice = "Apple does not sign like this. Refuse the evidence, and log who sent it."
    static let malformedHeader: Advice =
        "Apple does not send such a header. Refuse the evidence, and log who sent it."
    static let foreignHeader: Advice = [
        .unless(.storeKitTesting, "Apple does not send such a header. Refuse the evidence, and log who sent it."),
        .unless(
            .storeKitTesting,
            "For a JWS from StoreKit Testing in Xcode, \(.use(.storeKitTesting)) with Xcode's certificate."),
        .if(
            .storeKitTesting, "Xcode does not send such a header. If Apple signed the JWS, \(.omit(.storeKitTesting))."),
    ]
    static let tooOld: Advice = [
        "Have the app send newer evidence.", "To accept it, \(.pass(.maximumAge, "a longer time")).",
    ]
    static let fromTheFuture: Advice =
        "Check the clock of the host that verifies. If it is right, refuse the evidence."
    static let root: Advice = [
        .unless(
            .storeKitTesting,
            "To trust other roots than Apple's, \(.pass(.roots, "self-signed root certificates")). Their keys must be RSA of 2048 to 4096 bits, P-256 or P-384."
        ),
        .if(
            .storeKitTesting,
            "To accept what Xcode signs, \(.use(.storeKitTesting)) with Xcode's certificate. Its key must be RSA of 2048 to 4096 bits, P-256 or P-384."
        ),
    ]
}
