/// The verdict on one piece of evidence of a batch.
public struct BatchVerdict: Sendable {
    /// The verified evidence, or the reason the piece was refused.
    public let result: Result<VerifiedEvidence, VerificationError>
    /// The other members of the JSON object that contained the evidence, as one line of JSON such as `{"user":17,"tags":["a"]}`; empty if there are none.
    ///
    /// Nothing in them is verified. Names, values and order are as received, except that control characters in strings are escaped, and that a value with line
    /// breaks loses the whitespace between its tokens.
    public let otherMembers: [UInt8]

    package init(_ result: Result<VerifiedEvidence, VerificationError>, otherMembers: [UInt8] = []) {
        self.result = result
        self.otherMembers = otherMembers
    }
}
