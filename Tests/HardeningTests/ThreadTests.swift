import AppStoreReceipt
import AppStoreReceiptTesting
import CMSTrust
import SignatureTrust
import TestSupport
import Testing

/// One verifier for all threads; to be run under ThreadSanitizer.
@Suite struct ThreadTests {
    /// A receipt, and what a verifier that has seen nothing says of it.
    struct Case: Sendable {
        let bytes: [UInt8]
        let code: String?
    }

    @Test func `eight tasks that share a verifier get the verdicts of one`() async throws {
        let authorities = try (0..<3).map { _ in try TestCertificateAuthority() }
        // Two of the three are trusted.
        let trust = AppStoreTrust.roots([try authorities[0].trustAnchor, try authorities[1].trustAnchor])
        let policy = VerificationPolicy(bundleIDs: ["com.example.app"], environments: [.production])
        let verifier = try AppStoreVerifier(policy: policy, trust: trust)

        var cases: [Case] = []
        for bytes in try authorities.flatMap({ try Self.receipts(of: $0) }) {
            let alone = try AppStoreVerifier(policy: policy, trust: trust)
            cases.append(Case(bytes: bytes, code: Self.code(alone, bytes)))
        }
        #expect(Set(cases.map { $0.code ?? "verified" }).count >= 5)

        let expected = cases
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for round in 0..<20 {
                        for index in expected.indices {
                            let next = expected[(index * (task + 1) + round) % expected.count]
                            #expect(Self.code(verifier, next.bytes) == next.code)
                        }
                    }
                }
            }
        }
    }

    /// Verifiers of messages are shared as well.
    @Test func `eight tasks that share a verifier of messages get the verdicts of one`() async throws {
        let authorities = [try Minted.authority, try Minted.stranger]
        let verifier = try CMSVerifier(policy: CMSPolicy(anchors: [authorities[0].trustAnchor]))
        let messages = try authorities.map { authority in
            var builder = ReceiptBuilder(bundleID: "com.example.app")
            builder.signedAttributes = SignedDataBuilder.SignedAttribute.required
            return try builder.signed(by: authority)
        }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    for round in 0..<40 {
                        let isTrusted = round % 2 == 0
                        let message = try? verifier.verify(
                            messages[isTrusted ? 0 : 1], at: ReceiptBuilder.defaultCreationDate)
                        #expect((message != nil) == isTrusted)
                    }
                }
            }
        }
    }

    private static func receipts(of authority: TestCertificateAuthority) throws -> [[UInt8]] {
        var builder = ReceiptBuilder(
            bundleID: "com.example.app", purchases: [.consumable("coins", transactionID: "1")])
        var receipts: [[UInt8]] = [try builder.signed(by: authority)]
        builder.digest = .sha1
        receipts.append(try builder.signed(by: authority))
        builder.encoding = .ber(segmentSize: 100)
        receipts.append(try builder.signed(by: authority))
        builder.embedsRoot = false
        receipts.append(try builder.signed(by: authority))
        builder.bundleID = "com.example.other"
        receipts.append(try builder.signed(by: authority))
        // The leaf under another intermediate: a second chain for the same key.
        var shape = TestCertificateAuthority.Shape()
        shape.intermediate.serialNumber = [0x07]
        receipts.append(try builder.signed(by: authority.reissued(shape)))
        // Before the certificates begin, or without the intermediate.
        builder.creationDate = .init(millisecondsSince1970: 0)
        receipts.append(try builder.signed(by: authority))
        builder.creationDate = ReceiptBuilder.defaultCreationDate
        var signedData = try builder.signedData(by: authority)
        signedData.certificates?.remove(at: 1)
        receipts.append(try signedData.encoded())
        var forged = receipts[0]
        forged[forged.count - 1] ^= 1
        receipts.append(forged)
        return receipts
    }

    private static func code(_ verifier: AppStoreVerifier, _ bytes: [UInt8]) -> String? {
        do throws(VerificationError) {
            _ = try verifier.verifyReceipt(bytes)
            return nil
        } catch {
            return error.code.rawValue
        }
    }
}
