import AppStoreReceipt
import TestSupport
import Testing

@Suite(.enabled(if: Corpus.isPresent, "RECEIPT_CORPUS names no folder of JWS"))
struct JWSCorpusTests {
    private func verifier(_ environments: Set<AppStoreEnvironment> = [.production, .sandbox]) throws
        -> AppStoreVerifier
    {
        try AppStoreVerifier(policy: VerificationPolicy(bundleIDs: nil, environments: environments))
    }

    @Test func `all that Apple signed is verified, notifications with their parts`() throws {
        let verifier = try verifier()
        let samples = try Corpus.jws("jws-apple-")
        var partCount = 0
        for (name, jws) in samples {
            let evidence = try verifier.verify(Array(jws.utf8))
            var lines = [name]
            switch evidence {
            case .transaction(let info):
                #expect(name.contains("transaction") && info.verification.authority == .apple)
                #expect(info.payload.object.unknownMembers.isEmpty)
                lines += describe(info.payload)
            case .renewalInfo(let info):
                #expect(name.contains("renewalInfo") && info.verification.authority == .apple)
                #expect(info.payload.object.unknownMembers.isEmpty)
                lines += describe(info.payload)
            case .notification(let notification):
                #expect(name.contains("notification") && notification.notification.verification.authority == .apple)
                #expect(notification.notification.payload.object.unknownMembers.isEmpty)
                lines.append(
                    "  \(notification.type?.rawValue ?? "–") \(notification.subtype?.rawValue ?? "") "
                        + "\(notification.data?.bundleID ?? "–") \(notification.environment?.rawValue ?? "–")")
                let hasParts = notification.type != .test
                #expect((notification.transactionInfo != nil) == hasParts)
                #expect((notification.renewalInfo != nil) == hasParts)
                partCount += (notification.transactionInfo == nil ? 0 : 1) + (notification.renewalInfo == nil ? 0 : 1)
                lines += notification.transactionInfo.map { describe($0.payload) } ?? []
                lines += notification.renewalInfo.map { describe($0.payload) } ?? []
            case .receipt, .transactionReceipt, .appTransaction, .realtimeRequest:
                Issue.record("\(name): of another kind")
            }
            print(lines.joined(separator: "\n"))
        }
        print("corpus: \(samples.count) signed by Apple, with \(partCount) signed parts: all verified")
        #expect(!samples.isEmpty)
    }

    private func describe(_ info: TransactionInfo) -> [String] {
        [
            "  transaction \(info.transactionID ?? "–") of \(info.productID ?? "–"), \(info.productType?.rawValue ?? "–"), "
                + "\(info.price.map(String.init) ?? "–") \(info.currency ?? ""), \(info.reason?.rawValue ?? "–"), "
                + "expires \(info.expiresDate?.description ?? "–")"
        ]
    }

    private func describe(_ info: RenewalInfo) -> [String] {
        [
            "  renewal of \(info.originalTransactionID ?? "–") to \(info.autoRenewProductID ?? "–"), "
                + "status \(info.autoRenewStatus?.rawValue ?? -1), on \(info.renewalDate?.description ?? "–")"
        ]
    }

    @Test func `what Apple signed and someone changed is refused`() throws {
        let verifier = try verifier()
        for (name, jws) in try Corpus.jws("jws-apple-") {
            let bytes = Array(jws.utf8)
            for position in stride(from: 0, to: bytes.count, by: 97) {
                var changed = bytes
                changed[position] = changed[position] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
                #expect(throws: VerificationError.self, "\(name) at \(position)") { try verifier.verify(changed) }
            }
        }
    }

    @Test func `Xcode's data and that of tests is refused by default`() throws {
        for (prefix, codes) in [
            ("jws-xcode-", ["certificate-count"]), ("jws-test-", ["untrusted-chain", "signed-date-missing"]),
        ] {
            for (name, jws) in try Corpus.jws(prefix) {
                let error = #expect(throws: VerificationError.self) { try verifier().verify(Array(jws.utf8)) }
                #expect(codes.contains(error?.code.rawValue ?? ""), "\(name): \(error?.code.rawValue ?? "verified")")
                print("corpus: \(name): \(error?.code.rawValue ?? "–")")
            }
        }
    }

    @Test func `Xcode's data is verified with its own certificate, in a verifier made for it`() throws {
        for (name, jws) in try Corpus.jws("jws-xcode-") {
            let certificate = try Corpus.certificate(inHeaderOf: jws)
            let verifier = try AppStoreVerifier(
                policy: VerificationPolicy(bundleIDs: nil, environments: [.xcode]),
                trust: .storeKitTesting([certificate]))
            let evidence = try verifier.verify(Array(jws.utf8))
            switch evidence {
            case .transaction(let info):
                #expect(info.verification.authority == .storeKitTesting && info.payload.object.unknownMembers.isEmpty)
                #expect(info.purchaseDate?.millisecondsSince1970 == 1_697_679_936_049)
            case .renewalInfo(let info): #expect(info.payload.object.unknownMembers.isEmpty)
            case .appTransaction(let info):
                #expect(info.payload.object.unknownMembers.isEmpty)
                #expect(info.originalPurchaseDate?.millisecondsSince1970 == -62_135_769_600_000)
            default: Issue.record("\(name): of another kind")
            }
        }
    }
}
