package import StrictText

/// Contents of evidence, as all outputs show them: the signed parts of a notification come after it, not in it.
package struct EvidencePart: Sendable {
    /// Its member in a verdict: `receipt`, `transaction_receipt`, the raw value of a ``JWSKind``, or `payload` for a
    /// JWS of no known kind.
    package let name: String
    /// What it is, for people to read.
    package let title: String
    /// The verification; `nil` for contents that were not verified.
    package let verification: SignerVerification?
    let contents: any EvidenceContents

    private init(
        _ name: String, _ title: String, _ contents: any EvidenceContents, _ verification: SignerVerification? = nil
    ) {
        self.name = name
        self.title = title
        self.verification = verification
        self.contents = contents
    }

    /// All fields, in their order.
    package var fields: [EvidenceField] { contents.fields }
    /// The receipt, if it is one, which has attributes and purchases instead of fields.
    package var receipt: Receipt? { contents as? Receipt }

    /// Writes the object with Apple's names and values, except for dates in RFC 3339. Unknown members are as received.
    package func write(to writer: inout JSONWriter) { contents.write(to: &writer) }
}

/// What outputs show.
protocol EvidenceContents: Sendable {
    func write(to writer: inout JSONWriter)
    /// All fields, in their order.
    var fields: [EvidenceField] { get }
}

/// A field of signed data, for people to read.
package struct EvidenceField: Sendable {
    /// Apple's name, after those of the objects around it: `commitmentInfo.commitmentPrice`, `items[0].SKU`.
    package let name: String
    package let value: Value

    package enum Value: Sendable {
        case string(String)
        case date(Instant)
        /// Anything else, as it was received.
        case json(String)
    }
}

// MARK: - The parts

extension EvidencePart {
    init<Contents: NamedContents>(_ contents: Contents, _ verification: SignerVerification? = nil) {
        self.init(Contents.name, Contents.title, contents, verification)
    }

    init<Payload: JWSClaims>(_ verified: Verified<Payload>) { self.init(verified.payload, verified.verification) }

    /// Decodes a payload of any kind. Its dates are read as dates if it has all that its kind requires.
    init(unverified text: [UInt8]) throws(JSONError) {
        do throws(JSONError) {
            self = try JWSReading(text).part
        } catch {
            let record = UnknownRecord(members: try JWSMembers(decoding: text))
            self.init("payload", "payload of an unknown kind", record)
        }
    }
}

/// Contents with a name of their own.
protocol NamedContents: EvidenceContents {
    static var name: String { get }
    static var title: String { get }
}

extension JWSClaims {
    static var name: String { kind.rawValue }
    static var title: String { kind.text }
}

extension Receipt: NamedContents {
    static let name = "receipt"
    static let title = "receipt"
    func write(to writer: inout JSONWriter) { writer.receipt(self) }
    var fields: [EvidenceField] { [] }
}

extension TransactionReceipt: NamedContents {
    static let name = "transaction_receipt"
    static let title = "transaction receipt"
}
