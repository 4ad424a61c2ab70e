/// Evidence as it was received: its kind, its armor, and its content without the armor. All that verifies or decodes
/// evidence begins here.
///
/// The content is not read. A fault of the armor is thrown when the content is asked for.
package struct ReceivedEvidence: Sendable {
    /// The kind. Evidence of no known kind counts as a receipt.
    package let kind: EvidenceKind
    /// The text around the content; `nil` for the compact serialization of a JWS, and if none was recognized.
    package let armor: Armor?
    /// The other members of the JSON object that contained the evidence, as an object; empty if there are none, or none
    /// were asked for.
    package internal(set) var otherMembers: [UInt8] = []
    /// Where the content is in the received bytes; `nil` if it was decoded.
    private let place: Range<Int>?
    private var decoded: [UInt8]
    private let fault: VerificationError?
    /// The only kind that the caller accepts, also in a wrapper; `nil` for any.
    private var acceptedKind: EvidenceKind?
    /// Whether the evidence may be in a wrapper. Evidence of a kind that only Apple's server sends may not.
    private var mayBeWrapped = false

    /// Finds out what was received.
    ///
    /// - Parameters:
    ///   - kind: The only kind that the caller accepts; `nil` for any.
    ///   - keepsOtherMembers: Whether ``otherMembers`` is wanted, which is a copy of most of the text if there is
    ///     little evidence in it.
    package init(
        _ evidence: some EvidenceSource, as kind: EvidenceKind? = nil, _ limits: VerificationLimits,
        keepsOtherMembers: Bool = false
    ) {
        self = evidence._withEvidenceBytes { Self(reading: $0, as: kind, limits, keepsOtherMembers) }
        if armor == .binary, fault == nil { decoded = evidence.evidenceArray }
        allowWrappers(as: kind)
    }

    /// Finds out what was received, and copies it if it is a binary receipt.
    package init(
        copying evidence: Span<UInt8>, as kind: EvidenceKind? = nil, _ limits: VerificationLimits,
        keepsOtherMembers: Bool = false
    ) {
        self.init(reading: evidence, as: kind, limits, keepsOtherMembers)
        if armor == .binary, fault == nil { decoded = [UInt8](copying: evidence) }
        allowWrappers(as: kind)
    }

    /// Finds out what was received, if nothing is around it. A binary receipt is not copied, and cannot be asked for.
    init(exactly evidence: Span<UInt8>, as kind: EvidenceKind?, _ limits: VerificationLimits) {
        self.init(reading: evidence, as: kind, limits, false)
    }

    /// The text of a JWS in its compact serialization and nothing else, which is not looked at.
    package init(compactJWS text: Span<UInt8>) { self.init(.jws, nil, at: text.indices) }

    /// The fault of the armor; `nil` if there is none.
    var armorFault: VerificationError? { fault }

    /// Returns the binary receipt.
    ///
    /// - Throws: The fault of the armor.
    package func binary() throws(VerificationError) -> [UInt8] {
        if let fault { throw fault }
        return decoded
    }

    /// Whether the content has the form of its kind, without verification.
    ///
    /// - Parameter input: The bytes that were received.
    func hasForm(in input: Span<UInt8>) -> Bool {
        guard formFault(in: input) == nil else { return false }
        return switch kind {
        case .receipt: (armor == .binary ? input : decoded.span).isContainerBeginning
        case .jws, .transactionReceipt: true
        }
    }

    /// The fault of the armor, or of the three parts of a JWS; `nil` if there is none.
    ///
    /// - Parameter input: The bytes that were received.
    func formFault(in input: Span<UInt8>) -> VerificationError? {
        guard fault == nil, kind == .jws else { return fault }
        do throws(VerificationError) {
            _ = try CompactJWS.decodeUnverified(text(in: input), maximumByteCount: .max)
            return nil
        } catch {
            return placed(error)
        }
    }

    /// Returns the text of the JWS, or the property list of the transaction receipt.
    ///
    /// - Parameter input: The bytes that were received.
    /// - Throws: The fault of the armor.
    @_lifetime(borrow self, copy input)
    package func text(in input: Span<UInt8>) throws(VerificationError) -> Span<UInt8> {
        if let fault { throw fault }
        guard let place else { return decoded.span }
        return input.extracting(place)
    }

    /// Returns a fault that was found in the content, with its place in what was received.
    func placed(_ error: VerificationError) -> VerificationError {
        guard fault == nil, case .compactJWS = error.reason else { return error }
        return error.within(textAt: place?.lowerBound)
    }
}

// MARK: - Steps

extension ReceivedEvidence {
    mutating func allowWrappers(as kind: EvidenceKind?) {
        acceptedKind = kind
        mayBeWrapped = kind == nil || kind == .receipt
    }

    /// Calls `body` with the evidence. If its form is at fault, the received bytes are read again: evidence in a known
    /// wrapper counts as if it had been sent alone, and other input gets a name.
    ///
    /// - Parameters:
    ///   - input: The bytes that were received.
    ///   - form: Which forms are accepted.
    /// - Returns: What `body` returns, and the wrappers around the evidence.
    package func read<Value>(
        in input: Span<UInt8>, _ form: AcceptedForm,
        _ body: (ReceivedEvidence, Span<UInt8>) throws(VerificationError) -> Value
    ) throws(VerificationError) -> (value: Value, layers: Layers) {
        let fault: VerificationError
        do throws(VerificationError) {
            return (try body(self, input), Layers())
        } catch {
            fault = placed(error)
        }
        guard mayBeWrapped, fault.isOfForm, form.limits.allow(input) else { throw fault }
        let unwrapper = Unwrapper(as: acceptedKind, form.limits)
        let reading = unwrapper.read(input)
        if case .evidence(let text) = reading, !form.isStrict {
            let evidence = ReceivedEvidence(copying: text.bytes.span, as: acceptedKind, form.limits)
            do throws(VerificationError) {
                return (try body(evidence, text.bytes.span), text.layers)
            } catch {
                let error = evidence.placed(error)
                throw error.isOfForm ? unwrapper.diagnosis(of: text, after: error) : error.within(text)
            }
        }
        throw unwrapper.diagnosis(of: reading, input, isStrict: form.isStrict, after: fault)
    }

    private init(
        reading input: Span<UInt8>, as kind: EvidenceKind?, _ limits: VerificationLimits, _ keepsOtherMembers: Bool
    ) {
        do throws(InputError) {
            switch try Beginning(input, as: kind, limits) {
            case .binary: self.init(.receipt, .binary, at: input.indices)
            case .text(let kind):
                let (armor, decoded) = try kind.content(of: input, limits)
                self.init(kind, armor, at: decoded == nil ? input.indices : nil, decoded: decoded ?? [])
            case .object(let start):
                try self.init(object: input, from: start, as: kind, limits, keepsOtherMembers: keepsOtherMembers)
            }
        } catch {
            self.init(.receipt, error.armor, fault: .input(error))
        }
    }

    init(
        _ kind: EvidenceKind, _ armor: Armor?, at place: Range<Int>? = nil, decoded: [UInt8] = [],
        fault: VerificationError? = nil
    ) {
        self.kind = kind
        self.armor = armor
        self.place = place
        self.decoded = decoded
        self.fault = fault
    }
}

/// The forms of evidence that a reader accepts.
package struct AcceptedForm: Sendable {
    let limits: VerificationLimits
    /// Whether evidence in a wrapper is refused.
    let isStrict: Bool

    package init(_ limits: VerificationLimits, isStrict: Bool = false) {
        self.limits = limits
        self.isStrict = isStrict
    }
}

extension VerificationPolicy {
    var form: AcceptedForm { AcceptedForm(limits, isStrict: requiresStrictForm) }
}

extension VerificationError {
    /// Whether the evidence cannot be read in the form in which it was received, and is not too large to be read.
    fileprivate var isOfForm: Bool {
        // The form of its notification is valid.
        guard part == nil else { return false }
        return switch reason {
        case .input(let error): error.kind != .inputTooLarge
        case .container(let error): error.kind != .inputTooLarge
        case .compactJWS(let fault, _): fault != .inputTooLarge
        case .headerSyntax: true
        default: false
        }
    }
}
