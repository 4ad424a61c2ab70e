/// Refusals that surfaces make before a verifier looks at the evidence.
package enum SurfaceFault: String, CaseIterable, Sendable {
    case unreadableFile = "unreadable-file"
    case tooMuchEvidence = "too-much-evidence"

    /// The row of the table of faults.
    var fault: Fault {
        switch self {
        case .unreadableFile:
            Fault(
                rawValue, .input, .client, "a file cannot be read",
                { "Check its name, and whether you may read it." })
        case .tooMuchEvidence:
            Fault(
                rawValue, .input, .client,
                "a request has more than \(Entitlements.maximumEvidenceCount) pieces of evidence",
                { "Ask about one customer at a time. The newest evidence of each kind has what the older has." })
        }
    }
}

extension Entitlements {
    /// The number of pieces of evidence that the HTTP service and the packages of other languages take at once: 1,000.
    ///
    /// Refusals are larger than what is refused, so that only a limit bounds the answer.
    @_spi(Surfaces) public static let maximumEvidenceCount = 1000
}
