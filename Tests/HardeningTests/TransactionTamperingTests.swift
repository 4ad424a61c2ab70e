import AppStoreReceipt
import AppStoreReceiptTesting
import Sampling
import StrictText
import TestSupport
import Testing

/// Every small change to a transaction receipt, warm and cold: what is signed, its signature and its certificate, and
/// the property list around them.
@Suite(.tamperingTable) struct TransactionTamperingTests {
    final class Sample {
        let builder = TransactionReceiptBuilder(
            bundleID: "com.example.app", productID: "pro", transactionID: "10000000000001")
        let info: [UInt8]
        let blob: [UInt8]
        let list: [UInt8]
        private let original: VerifiedTransactionReceipt
        private let warm: AppStoreVerifier
        private var cold: AppStoreVerifier

        init() throws {
            info = builder.purchaseInfo()
            blob = try builder.signatureBlob(over: info, by: Minted.authority.leaf)
            list = builder.propertyList(purchaseInfo: info, signature: blob)
            warm = try Self.verifier()
            cold = try Self.verifier()
            original = try warm.verifyTransactionReceipt(list)
        }

        private static func verifier() throws -> AppStoreVerifier {
            try AppStoreVerifier(
                bundleID: "com.example.app", environments: [.production],
                trust: Minted.authority.transactionReceiptTrust)
        }

        /// Whether it was verified, with the same content. Cold and warm must agree, to the error's offset.
        func isVerified(_ list: [UInt8], _ change: @autoclosure () -> String) throws -> Bool {
            let warm = Result { () throws(VerificationError) in try self.warm.verifyTransactionReceipt(list) }
            // Before the signature no cache has a say.
            if case .failure(let error) = warm, [.input, .form, .header].contains(error.stage) { return false }
            let verdict = Result { () throws(VerificationError) in try cold.verifyTransactionReceipt(list) }
            if warm != verdict { Issue.record("\(change()): warm \(warm), cold \(verdict)") }
            guard case .success(let receipt) = verdict else { return false }
            cold = try Self.verifier()
            if receipt != original { Issue.record("\(change()): verified with another content") }
            return true
        }
    }

    @Test(arguments: Sampling.share(0..<8, of: "transaction-bits"))
    func `a flipped bit of what is signed, of the signature or of the certificate is refused`(bit: Int) throws {
        let sample = try Sample()
        var row = TamperingRow("transaction receipt: each bit of the decoded values flipped")
        for offset in 0..<sample.info.count + sample.blob.count {
            var (info, blob) = (sample.info, sample.blob)
            if offset < info.count { info[offset] ^= 1 << bit } else { blob[offset - info.count] ^= 1 << bit }
            row.count += 1
            let list = sample.builder.propertyList(purchaseInfo: info, signature: blob)
            guard try sample.isVerified(list, "bit \(bit) of byte \(offset)") else { continue }
            Issue.record("bit \(bit) of byte \(offset) makes no difference")
        }
        row.record()
    }

    @Test(arguments: Sampling.share(0..<8, of: "transaction-list-bits"))
    func `a flipped bit of the list is refused, or lies in whitespace or in what is not signed`(bit: Int) throws {
        let sample = try Sample()
        let text = String(decoding: sample.list, as: UTF8.self)
        let unsigned = try #require(text.firstRange(of: "\t\"pod\"")).lowerBound.utf16Offset(in: text)
        var row = TamperingRow("transaction receipt: each bit of the list flipped")
        for offset in sample.list.indices {
            var list = sample.list
            list[offset] ^= 1 << bit
            row.count += 1
            guard try sample.isVerified(list, "bit \(bit) of byte \(offset)") else { continue }
            let isSpace = Array(" \t\r\n".utf8).contains(sample.list[offset])
            #expect(isSpace || offset >= unsigned, "bit \(bit) of byte \(offset)")
            row.harmless[isSpace ? "whitespace" : "values that are not signed", default: 0] += 1
        }
        row.record()
    }

    @Test func `a truncated transaction receipt is refused`() throws {
        let sample = try Sample()
        let whole = sample.list
        let base64 = Array(Base64.encode(whole.span).utf8)
        var row = TamperingRow("transaction receipt: truncated after each byte")
        for whole in [whole, base64] {
            // Base64 needs no padding.
            let end = whole.lastIndex { $0 != UInt8(ascii: "=") }.map { $0 + 1 } ?? 0
            for count in 0..<end {
                row.count += 1
                #expect(try !sample.isVerified(Array(whole.prefix(count)), "\(count) bytes"), "\(count) bytes")
            }
        }
        row.record()
    }

    @Test func `a truncated signature, and truncated contents, are refused`() throws {
        let sample = try Sample()
        var row = TamperingRow("transaction receipt: the decoded values truncated after each byte")
        for (count, isInfo) in sample.info.indices.map({ ($0, true) }) + sample.blob.indices.map({ ($0, false) }) {
            let list = sample.builder.propertyList(
                purchaseInfo: isInfo ? Array(sample.info.prefix(count)) : sample.info,
                signature: isInfo ? sample.blob : Array(sample.blob.prefix(count)))
            row.count += 1
            #expect(try !sample.isVerified(list, "\(count) bytes"), "\(count) bytes")
        }
        row.record()
    }
}
