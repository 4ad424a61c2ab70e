/// The verdict on one piece of evidence of a batch.
public struct BatchVerdict: Sendable {
    /// The verified evidence, or the reason the piece was refused.
    public let result: Result<VerifiedEvidence, VerificationError>
    /// The other members of the JSON object that contained the evidence, such as `{"user":17,"tags":["a"]}`, whose text
    /// is one line; `nil` if there are none.
    ///
    /// Nothing in them is verified. Names, values and order are as received, except that control characters in strings
    /// are escaped, and that a value with line breaks loses the whitespace between its tokens.
    public var otherMembers: JSONObject? {
        otherBytes.isEmpty ? nil : JSONObject(text: otherBytes, range: otherBytes.indices, names: [])
    }
    package let otherBytes: [UInt8]

    package init(_ result: Result<VerifiedEvidence, VerificationError>, otherMembers: [UInt8] = []) {
        self.result = result
        otherBytes = otherMembers
    }
}
