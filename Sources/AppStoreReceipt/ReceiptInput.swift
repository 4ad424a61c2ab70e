/// stand-in until the forms land
public struct ReceiptInputError: Error, Hashable, Sendable {
    public enum Kind: String, Sendable { case emptyInput = "empty-input" }
    public let kind: Kind
    public let offset: Int
    var explanation: String { "" }
}
enum ReceiptInput {
    static func binary(_ input: [UInt8], maximumByteCount: Int) throws(ReceiptError) -> [UInt8] { input }
    static func binary(base64: String, maximumByteCount: Int) throws(ReceiptError) -> [UInt8] { Array(base64.utf8) }
}
