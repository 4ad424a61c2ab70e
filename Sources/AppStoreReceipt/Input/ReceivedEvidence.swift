/// Evidence as it was received: its kind, its armor, and its content without the armor. All that verifies or decodes evidence begins here.
///
/// The content is not read. A fault of the armor is thrown when the content is asked for.
package struct ReceivedEvidence: Sendable {
    /// The kind. Evidence of no known kind counts as a receipt.
    package let kind: EvidenceKind
    /// The text around the content; `nil` for the compact serialization of a JWS, and if none was recognized.
    package let armor: Armor?
    /// The other members of the JSON object that contained the evidence, as an object; empty if there are none, or none were asked for.
    package internal(set) var otherMembers: [UInt8] = []
    /// Where the content is in the received bytes; `nil` if it was decoded.
    private let place: Range<Int>?
    private var decoded: [UInt8]
    private let fault: VerificationError?

    /// Finds out what was received.
    ///
    /// - Parameters:
    ///   - kind: The only kind that the caller accepts; `nil` for any.
    ///   - keepsOtherMembers: Whether ``otherMembers`` is wanted, which is a copy of most of the text if there is little evidence in it.
    package init(
        _ evidence: some EvidenceSource, as kind: EvidenceKind? = nil, _ limits: VerificationLimits,
        keepsOtherMembers: Bool = false
    ) {
        self = evidence.withEvidenceBytes { Self(reading: $0, as: kind, limits, keepsOtherMembers) }
        if armor == .binary, fault == nil { decoded = evidence.evidenceArray }
    }

    /// Finds out what was received, and copies it if it is a binary receipt.
    package init(
        copying evidence: Span<UInt8>, as kind: EvidenceKind? = nil, _ limits: VerificationLimits,
        keepsOtherMembers: Bool = false
    ) {
        self.init(reading: evidence, as: kind, limits, keepsOtherMembers)
        if armor == .binary, fault == nil { decoded = [UInt8](copying: evidence) }
    }

    /// The text of a JWS in its compact serialization and nothing else, which is not looked at.
    package init(compactJWS text: Span<UInt8>) { self.init(.jws, nil, at: text.indices) }

    /// Returns the binary receipt.
    ///
    /// - Throws: The fault of the armor.
    package func binary() throws(VerificationError) -> [UInt8] {
        if let fault { throw fault }
        return decoded
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
}

// MARK: - Steps

extension ReceivedEvidence {
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
