import SignatureTrust
import SpanASN1
import StrictText

extension VerificationError: CustomStringConvertible {
    /// The explanation, with the member that is missing, the value found, the value expected and the place, where they
    /// are known.
    ///
    /// It is safe to log: values from the evidence are escaped and shortened.
    public var description: String { message(for: .swift) }

    /// The ``description`` for an audience: without what the policy accepts, for one that may not know it.
    func message(for audience: Audience) -> String {
        var text = explanation
        if let member { text += ": \(member)" }
        if let found { text += ": found \(found.excerpt)" }
        if let expected = expected(for: audience) {
            text += "\(found == nil && member == nil ? ":" : ",") expected \(expected.excerpt)"
        }
        var place: [String] = []
        if let part { place.append(part.rawValue) }
        // A client wrote the pointer to a member.
        if let path {
            if case .member = circumstances?.detail { place.append(path.excerpt) } else { place.append(path) }
        }
        if let offset, let offsetBase { place.append("at byte \(offset) of the \(offsetBase.text)") }
        return place.isEmpty ? text : "\(text) (\(place.joined(separator: " ")))"
    }
}

extension VerificationError {
    /// The ``expected`` value; `nil` for an audience that may not know what the policy accepts.
    func expected(for audience: Audience) -> String? {
        audience.mayKnowSettings || stage != .policy ? expected : nil
    }
}

extension VerificationError.OffsetBase {
    var text: String {
        switch self {
        case .text: "text"
        case .binary: "binary receipt"
        case .header: "JWS header"
        case .payload: "signed payload"
        case .propertyList: "property list"
        case .signatureBlob: "decoded signature"
        case .certificates: "JWS certificates"
        }
    }
}

extension VerificationError {
    /// Returns the text at ``offset`` of a refused input, escaped and shortened for a log, such as
    /// `"2018-13-12T25:00:00Z"`. Bytes that are not text are in hexadecimal.
    ///
    /// - Parameter input: The bytes that the verifier refused.
    /// - Returns: The excerpt; `nil` if the error has no position in the input, for a JWS, and if `input` is not the
    ///   refused input.
    public func excerpt(of input: some EvidenceSource) -> String? {
        let input = input.evidenceArray
        guard part == nil, let offset else { return nil }
        switch offsetBase {
        case .text: return input.dropFirst(offset).excerpt
        case .binary: break
        default: return nil
        }
        var limits = VerificationLimits()
        limits.maximumReceiptByteCount = .max
        // Removes the armor again, because errors keep no copy of the input.
        let evidence = Unwrapper.evidence(in: input, limits)
        guard let binary = try? ReceivedEvidence(evidence, as: .receipt, limits).binary() else { return nil }
        let rest = binary.dropFirst(offset)
        var cursor = ASN1Cursor(rest.span)
        let strings: [ASN1Tag] = [.utf8String, .ia5String, .printableString, .utcTime, .generalizedTime]
        // What is not an element is shown in hexadecimal.
        if let element = try? cursor.read(), strings.contains(element.tag) {
            return [UInt8](copying: element.content)[...].excerpt
        }
        return rest.hexadecimalExcerpt
    }
}
