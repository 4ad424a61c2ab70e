/// What became of one of many pieces of evidence.
public struct BatchVerdict: Sendable {
    /// The evidence, or the error that this piece deserves.
    public let result: Result<VerifiedEvidence, VerificationError>
    /// The members of a JSON object besides the evidence, as an object of their own, on one line: `{"user":17,"tags":["a"]}`. Names, values
    /// and order are as received, but control characters in strings are escaped, those that turn text around, too, and a value with line breaks
    /// loses the whitespace between its tokens. Empty where there are none. They are the sender's words: nothing of them is verified.
    public let otherMembers: [UInt8]

    package init(_ result: Result<VerifiedEvidence, VerificationError>, otherMembers: [UInt8] = []) {
        self.result = result
        self.otherMembers = otherMembers
    }
}
