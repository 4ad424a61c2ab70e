@_spi(Surfaces) import AppStoreReceipt
import StrictText

/// A file to read, or standard input.
struct FileInput: Hashable {
    /// The name as it was given. `-` is standard input.
    let name: String

    init(_ name: String) { self.name = name }

    static let standardInput = FileInput("-")

    /// The maximum size. The text of a receipt is larger than its bytes; a longer text is refused before it is decoded.
    static let maximumFileByteCount = VerificationLimits.refusedByteCount

    /// Reads the whole input, without a byte order mark unless it is signed content.
    func read(
        maximumByteCount: Int = maximumFileByteCount, isContent: Bool = false
    ) throws(SystemError) -> [UInt8] {
        var bytes =
            name == "-"
            ? try System.read(System.standardInput, maximumByteCount: maximumByteCount)
            : try System.read(name, maximumByteCount: maximumByteCount)
        if !isContent { bytes.removeByteOrderMark() }
        return bytes
    }

    /// Returns a descriptor for reading, which stays open as long as the process.
    func open() throws(SystemError) -> CInt { name == "-" ? System.standardInput : try System.open(name) }
}

extension FileInput {
    /// Reads the input, or reports the reason it cannot be read.
    func read(asJSON: Bool, _ console: inout Console, _ status: inout ExitStatus) -> [UInt8]? {
        do throws(SystemError) {
            return try read()
        } catch {
            report(error, asJSON: asJSON, &console)
            status.formMaximum(.unusable)
            return nil
        }
    }

    /// Reports that the input cannot be read, also as JSON, so that each input has a line.
    func report(_ error: SystemError, asJSON: Bool, _ console: inout Console) {
        if asJSON {
            var writer = JSONWriter()
            writer.failure(.unreadableFile, message: error.description, from: .file(name))
            console.print(utf8: writer.bytes)
        }
        console.report("\(name.printable): \(error)")
    }
}
