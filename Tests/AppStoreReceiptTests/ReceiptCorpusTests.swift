import AppStoreReceipt
import Foundation
import SignatureTrust
import SpanASN1
import SpanPKCS7
import TestSupport
import Testing

@Suite(.enabled(if: Corpus.isPresent, "RECEIPT_CORPUS names no folder of receipts"))
struct ReceiptCorpusTests {
    private static func verifier(_ change: (inout VerificationPolicy) -> Void = { _ in }) throws -> AppStoreVerifier {
        var policy = VerificationPolicy(bundleIDs: nil, environments: [.production, .sandbox])
        policy.allowsFutureDates = false
        change(&policy)
        return try AppStoreVerifier(policy: policy)
    }

    @Test func `the corpus has 20 receipts by Apple, 4 by Xcode, and 3 that are truncated`() {
        #expect(Corpus.apple.count == 20 && Corpus.xcode.count == 4 && Corpus.malformed.count == 3)
        #expect(Corpus.expected.count == 24)
    }

    @Test(arguments: Corpus.apple)
    func `what Apple signed verifies against Apple's root, cold and warm`(file: URL) throws {
        let bytes = try Corpus.bytes(file)
        let verifier = try Self.verifier()
        let receipt = try verifier.verifyReceipt(bytes)
        let warm = try verifier.verifyReceipt(bytes)
        #expect(receipt == warm)
        #expect(receipt.verification.authority == .apple)
        #expect(
            receipt.verification.anchor.description
                == "b0b1730ecbc7ff4505142c49f1295e6eda6bcaed7e2c68c5be91b5a11001f024")
        #expect(receipt.verification.digest == (file.lastPathComponent.contains("sha256") ? .sha256 : .sha1))
        #expect(receipt.verification.validationDate == receipt.creationDate)
        #expect(receipt.verification.signerExpirationDate > receipt.verification.validationDate)
        let environment: AppStoreEnvironment = file.lastPathComponent.hasPrefix("prod") ? .production : .sandbox
        #expect(receipt.environment == environment)
        // For this app and environment, and no other.
        let bundleID = try #require(receipt.bundleID)
        #expect(try AppStoreVerifier(bundleID: bundleID, environments: [environment]).code(bytes) == nil)
        #expect(
            try AppStoreVerifier(bundleID: "com.example.app", environments: [environment]).code(bytes)
                == "bundle-id-mismatch")
        let other: AppStoreEnvironment = environment == .production ? .sandbox : .production
        #expect(try AppStoreVerifier(bundleID: bundleID, environments: [other]).code(bytes) == "environment-mismatch")
        #expect(try !receipt.matches(deviceIdentifier: [1, 2, 3, 4, 5, 6]))
    }

    @Test(arguments: Corpus.apple)
    func `a receipt with any one of some bits flipped does not verify`(file: URL) throws {
        let bytes = try Corpus.bytes(file)
        let verifier = try Self.verifier()
        let genuine = try verifier.verifyReceipt(bytes)
        let message = try SignedData(ContentInfo(bytes.span))
        var certificates = message.certificates
        var root = 0..<0
        while let certificate = try certificates.next() { root = certificate.element.range }
        let step = max(1, bytes.count / 150)
        for index in stride(from: 0, to: bytes.count, by: step) {
            var flipped = bytes
            flipped[index] ^= 1 << UInt8(index / step % 8)
            guard let receipt = try? verifier.verifyReceipt(flipped) else { continue }
            // Nothing covers the embedded root and the set of digest algorithms, and nothing relies on them.
            #expect(receipt == genuine)
            #expect(root.contains(index) || index < 60, "byte \(index)")
        }
    }

    @Test(arguments: Corpus.apple)
    func `a receipt whose signer has expired is refused at a later date`(file: URL) throws {
        let bytes = try Corpus.bytes(file)
        let expiry = try Self.verifier().verifyReceipt(bytes).verification.signerExpirationDate
        for (offset, isAccepted) in [(0, true), (999, true), (1000, false)] as [(Int64, Bool)] {
            let date = Instant(millisecondsSince1970: expiry.millisecondsSince1970 + offset)
            let code = try Self.verifier { $0.validationDate = .at(date) }.code(bytes)
            // The intermediate may have expired before its leaf.
            #expect(isAccepted ? [nil, "certificate-expired"].contains(code) : code == "certificate-expired")
        }
    }

    @Test(arguments: Corpus.apple)
    func `a distrusted leaf is refused, and SHA-1 where it is switched off`(file: URL) throws {
        let bytes = try Corpus.bytes(file)
        let leaf = try Self.verifier().verifyReceipt(bytes).verification.signer
        #expect(try Self.verifier { $0.distrusted = [leaf] }.code(bytes) == "distrusted-certificate")
        let code = try Self.verifier { $0.algorithms.allowsSHA1 = false }.code(bytes)
        #expect(
            file.lastPathComponent.contains("sha1") ? code == "weak-algorithm" : [nil, "weak-algorithm"].contains(code))
    }

    @Test(arguments: Corpus.xcode)
    func `what Xcode signed verifies with its own certificate as trust, and not otherwise`(file: URL) throws {
        let bytes = try Corpus.bytes(file)
        #expect(try Self.verifier().code(bytes) == "untrusted-chain")
        let certificate = try Corpus.certificate(in: bytes)
        #expect(try Fingerprint(of: certificate.der.span).description.hasPrefix("ff0ba36e"))
        let policy = VerificationPolicy(bundleIDs: nil, environments: [.xcode])
        let receipt = try AppStoreVerifier(policy: policy, trust: .storeKitTesting([certificate])).verifyReceipt(bytes)
        #expect(receipt.environment == .xcode && receipt.verification.authority == .storeKitTesting)
        for apple in Corpus.apple.prefix(2) {
            let verifier = try AppStoreVerifier(policy: policy, trust: .storeKitTesting([certificate]))
            #expect(try verifier.code(Corpus.bytes(apple)) == "untrusted-chain")
        }
    }

    @Test(arguments: Corpus.malformed)
    func `a truncated receipt is refused, at an offset within it`(file: URL) throws {
        let bytes = try Corpus.bytes(file)
        let error = #expect(throws: VerificationError.self) { try Self.verifier().verifyReceipt(bytes) }
        #expect(error?.stage == .container && error?.code == .truncated)
        #expect(error?.offset.map { 0..<bytes.count ~= $0 } == true)
    }

    @Test(arguments: Corpus.apple + Corpus.xcode)
    func `a receipt that is cut anywhere does not verify`(file: URL) throws {
        let bytes = try Corpus.bytes(file)
        let verifier = try Self.verifier()
        for count in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 200)) {
            let error = #expect(throws: VerificationError.self) { try verifier.verifyReceipt(Array(bytes[..<count])) }
            #expect(error?.offset.map { 0...count ~= $0 } == true)
        }
    }

    // MARK: Every attribute

    /// An attribute's value as `expected.jsonl` writes it.
    private func text(_ attribute: ReceiptAttribute) throws -> String {
        let value = attribute.value
        if !(4...7).contains(attribute.type.rawValue), let tag = value.first {
            var cursor = ASN1Cursor(value.span)
            let element = try? cursor.read()
            if let element, cursor.isAtEnd {
                if tag == 0x02 { return try String(element.integer(as: Int64.self)) }
                if tag == 0x0C { return try element.utf8String() }
                if tag == 0x16 { return try element.ia5String() }
            }
        }
        return "hex:" + hex(value)
    }

    /// A typed field as it stands in `expected.jsonl`.
    private func check(_ fields: PayloadModel.Fields, _ expected: [String: String], _ types: Set<Int64>) throws {
        let formatter = ISO8601DateFormatter()
        for type in types {
            let text = expected[String(type)]
            switch fields[type] {
            // Attribute 1711 is 0 where there is no such id.
            case nil: #expect(text == nil || text == "" || type == 1711 && text == "0")
            case .text(let value), .id(let value): #expect(value == text)
            case .number(let value): #expect(String(value) == text)
            case .flag(let value): #expect(text == (value ? "1" : "0"))
            case .octets(let value): #expect("hex:" + hex(value) == text)
            case .date(let value):
                // Fractions are beyond this formatter's options, and compared apart.
                let parts = (text ?? "").split(separator: ".")
                let date = formatter.date(from: parts.count == 2 ? parts[0] + "Z" : text ?? "")
                #expect(date.map { Int64($0.timeIntervalSince1970) } == value / 1000)
            }
        }
    }

    @Test(arguments: Corpus.apple + Corpus.xcode)
    func `every attribute and every field is what an independent decoder says`(file: URL) throws {
        let receipt = try UnverifiedReceipt(decoding: Corpus.bytes(file))
        let expected = try #require(Corpus.expected[file.lastPathComponent])
        var found: [String: String] = [:]
        for attribute in receipt.attributes where attribute.type != .inAppPurchase {
            found[String(attribute.type.rawValue)] = try text(attribute)
        }
        #expect(found == expected.outer)

        let model = PayloadModel(receipt)
        try check(model.outer, expected.outer, [0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12, 13, 15, 16, 18, 19, 21, 25, 32])
        #expect(receipt.inAppPurchases.count == expected.purchases.count)
        for (index, purchase) in receipt.inAppPurchases.enumerated() {
            let expected = expected.purchases[index]
            var found: [String: String] = [:]
            for attribute in purchase.attributes { found[String(attribute.type.rawValue)] = try text(attribute) }
            #expect(found == expected)
            try check(
                model.purchases[index], expected,
                [1701, 1702, 1703, 1704, 1705, 1706, 1707, 1708, 1710, 1711, 1712, 1713, 1719, 1720, 1721])
        }
    }
}
