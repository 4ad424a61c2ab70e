import AppStoreReceipt

/// A file to read, or standard input.
struct FileInput: Hashable {
    /// The name as it was given. `-` is standard input.
    let name: String

    init(_ name: String) { self.name = name }

    static let standardInput = FileInput("-")

    /// The maximum size. The text of a receipt is larger than its binary form; a longer text is refused before it is decoded.
    static let maximumByteCount = VerificationLimits().maximumByteCount * 2 + (1 << 16) + 1

    func read() throws(SystemError) -> [UInt8] {
        name == "-"
            ? try System.read(System.standardInput, maximumByteCount: Self.maximumByteCount)
            : try System.read(name, maximumByteCount: Self.maximumByteCount)
    }

    /// Returns a descriptor for reading, which stays open as long as the process.
    func open() throws(SystemError) -> CInt { name == "-" ? System.standardInput : try System.open(name) }
}
