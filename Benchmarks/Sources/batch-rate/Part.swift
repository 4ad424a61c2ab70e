import AppStoreReceipt
import Foundation
import SignatureTrust

/// One of the processes beside the batch: it verifies receipts in a loop, as the task `verify-base64` of the benchmarks does, and writes their JSON if it is asked to.
struct Part {
    static let word = "part"

    private let verifier: AppStoreVerifier
    private let receipts: [String]
    private let count: Int
    private let output: Output

    init(_ words: ArraySlice<String>) throws {
        let words = Array(words)
        guard words.count == 4, let count = Int(words[2]), let output = Output(rawValue: words[3]) else {
            throw BatchRateError.usage
        }
        let root = try TrustAnchor(der: [UInt8](try Data(contentsOf: URL(filePath: words[0]))))
        verifier = try AppStoreVerifier(
            policy: VerificationPolicy(bundleIDs: nil, environments: [.production, .sandbox]), trust: .roots([root]))
        receipts = try String(contentsOf: URL(filePath: words[1]), encoding: .utf8).split(separator: "\n").map(
            String.init)
        self.count = count
        self.output = output
    }

    func run() throws {
        var text = ""
        for index in 0..<count {
            let receipt = receipts[index % receipts.count]
            guard output == .json else {
                _ = try verifier.verifyReceipt(receipt)
                continue
            }
            text += try verifier.verify(receipt).json
            text += "\n"
            if text.utf8.count >= 1 << 16 { write(&text) }
        }
        write(&text)
    }

    private func write(_ text: inout String) {
        text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while unsafe !rest.isEmpty {
                let count = unsafe Foundation.write(1, rest.baseAddress, rest.count)
                guard count > 0 else { exit(2) }
                unsafe rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
        text.removeAll(keepingCapacity: true)
    }
}
