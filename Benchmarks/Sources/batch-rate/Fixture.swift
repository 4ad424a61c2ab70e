import AppStoreReceiptTesting
import Foundation
import TypicalReceipts

/// Files for one number of purchases: the root, some receipts, and lines that repeat them with an id.
final class Fixture {
    let folder: URL
    let root: String
    let receipts: String
    let lines: String
    let lineCount: Int

    /// Not one receipt, which would stay in the processor's cache, and not as many as there are lines, which would take
    /// minutes to mint.
    private static let receiptCount = 100

    /// - Parameter seconds: How long the lines shall take, at 40 µs a receipt and 0.6 µs a purchase on two processors.
    init(purchases: Int, seconds: Double) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "batch-rate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        self.folder = folder
        root = folder.appending(path: "root.der").path
        receipts = folder.appending(path: "receipts").path
        lines = folder.appending(path: "lines").path
        lineCount = Int(seconds * 2 / (40e-6 + 0.6e-6 * Double(purchases)))

        let authority = try TestCertificateAuthority()
        try Data(authority.root.certificate).write(to: URL(filePath: root))
        let texts = try (0..<Self.receiptCount).map { index in
            var builder = ReceiptBuilder.typical(purchases: purchases)
            builder.bundleID = "com.example.app\(index)"
            return Data(try builder.signed(by: authority)).base64EncodedString()
        }
        try Data((texts.joined(separator: "\n") + "\n").utf8).write(to: URL(filePath: receipts))
        guard FileManager.default.createFile(atPath: lines, contents: nil) else {
            throw BatchRateError.unreadable(lines)
        }
        let file = try FileHandle(forWritingTo: URL(filePath: lines))
        defer { try? file.close() }
        for start in stride(from: 0, to: lineCount, by: texts.count) {
            let part = (start..<min(start + texts.count, lineCount)).map { number in
                "{\"id\":\(number),\"receipt-data\":\"\(texts[number % texts.count])\"}\n"
            }
            try file.write(contentsOf: Data(part.joined().utf8))
        }
    }

    deinit { try? FileManager.default.removeItem(at: folder) }
}
