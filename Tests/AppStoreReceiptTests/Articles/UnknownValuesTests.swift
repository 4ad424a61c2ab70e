import AppStoreReceiptTesting
import Foundation
import TestSupport
import Testing

@_spi(Ledger) @testable import AppStoreReceipt

/// What Apple adds is kept, and means what the article's table says: each value in each vector is replaced by an
/// unknown one.
@Suite struct UnknownValuesTests {
    /// What the table says of an unknown value.
    private enum Meaning: CaseIterable {
        case undetermined, refused, revoked, several, nothing

        init?(_ text: String) {
            let words: [(String, Meaning)] = [
                ("`undetermined`", .undetermined), ("`unknown-environment`", .refused), ("`revoked`", .revoked),
                ("`SEAT_ADDITION`", .several), ("It decides nothing", .nothing),
            ]
            guard let found = words.first(where: { text.contains($0.0) }) else { return nil }
            self = found.1
        }
    }

    /// What a decision says of a purchase, and of its subscription.
    private struct Facts: Equatable {
        struct Item: Equatable {
            let access: Entitlements.Access
            let until: Instant?
            let quantity: Int
            let seats: [Int?]
            let ownedQuantity: Int?
        }

        let items: [Item]
        let subscriptions: [[Instant]]

        init(_ entitlements: Entitlements) {
            items = entitlements.items.map {
                Item(
                    access: $0.access, until: $0.accessEndDate, quantity: $0.quantity,
                    seats: [$0.seats, $0.periodSeats],
                    ownedQuantity: $0.ownedQuantity)
            }
            subscriptions = entitlements.subscriptions.map { [$0.expiresDate, $0.currentPeriod.purchase.purchaseDate] }
        }
    }

    private static let parts: Set = ["signedTransactionInfo", "signedRenewalInfo", "signedAppTransactionInfo"]
    private let authority: TestCertificateAuthority
    private let verifier: AppStoreVerifier
    /// Real-time requests have no bundle id.
    private let verifierOfRequests: AppStoreVerifier
    /// The table.
    private let meanings: [String: Meaning]

    init() throws {
        authority = try Minted.ellipticAuthority
        verifier = try Minted.verifier()
        verifierOfRequests = try Minted.verifier { $0.appAppleID = "1234567890" }
        var meanings: [String: Meaning] = [:]
        for row in try Article("WhatOfflineVerificationCanKnow").rows(under: "What an unknown value means") {
            let meaning = try #require(Meaning(row[2]), "\(row[2])")
            for name in row[0].components(separatedBy: ", ") { meanings[name.replacing("`", with: "")] = meaning }
        }
        self.meanings = meanings
    }

    // MARK: Vectors

    /// The vectors that are accepted by a verifier without StoreKit Testing and a validation date of its own.
    private static let names = Result {
        struct Expectation: Decodable {
            struct Settings: Decodable { let storeKitTesting: [String]?, validationDate: String? }
            let file: String
            let verdict: String
            let verifier: Settings?
        }
        let file = Project.url("TestVectors/jws/expectations.json")
        let all = try JSONDecoder().decode([Expectation].self, from: Data(contentsOf: file))
        return all.filter { expectation in
            expectation.verdict == "accepted" && expectation.verifier?.storeKitTesting == nil
                && expectation.verifier?.validationDate == nil
        }.map(\.file)
    }

    private func payload(of jws: String) throws -> [String: Any] {
        var base64 = jws.split(separator: ".")[1].replacing("-", with: "+").replacing("_", with: "/")
        while base64.count % 4 != 0 { base64 += "=" }
        let bytes = try #require(Data(base64Encoded: String(base64)))
        return try #require(try JSONSerialization.jsonObject(with: bytes) as? [String: Any])
    }

    private func signed(_ payload: [String: Any]) throws -> String {
        let json = try JSONSerialization.data(withJSONObject: payload, options: .sortedKeys)
        return try JWSBuilder(payload: .raw(String(decoding: json, as: UTF8.self))).signed(by: authority)
    }

    /// Replaces the values of a member, in what is signed within the payload, too, which is signed anew.
    private func replacing(_ name: String?, in value: Any, _ count: inout Int) throws -> Any {
        if let array = value as? [Any] { return try array.map { try replacing(name, in: $0, &count) } }
        guard var object = value as? [String: Any] else { return value }
        for (key, value) in object {
            if Self.parts.contains(key), let jws = value as? String {
                let part = try replacing(name, in: payload(of: jws), &count) as? [String: Any]
                object[key] = try signed(#require(part))
            } else if key == name {
                object[key] = value is String ? "UNKNOWN" : 99
                count += 1
            } else {
                object[key] = try replacing(name, in: value, &count)
            }
        }
        return object
    }

    /// Decides about a vector in which the values of a member are unknown; `nil` if it does not have the member.
    private func decide(_ file: String, replacing name: String?) throws -> Facts? {
        let text = try String(contentsOf: Project.url("TestVectors/" + file), encoding: .utf8)
        var count = 0
        let payload = try #require(
            try replacing(name, in: payload(of: text.trimmingCharacters(in: .whitespacesAndNewlines)), &count)
                as? [String: Any])
        guard count > 0 || name == nil else { return nil }
        let isRequest = payload["requestIdentifier"] != nil
        var evidence = [try (isRequest ? verifierOfRequests : verifier).verify(signed(payload))]
        if case .renewalInfo = evidence[0] {
            let period = Transaction(
                id: "200000000000001", product: "pro", original: "200000000000001", start: 165, end: 195)
            evidence.append(.transaction(try verifier.verifyTransaction(period.jws(signed: 165).signed(by: authority))))
        }
        return Facts(Entitlements(evidence, at: JWSBuilder.defaultDate + .seconds(3600)))
    }

    @Test func `each is kept, and decides what the table says`() throws {
        var seen: Set<String> = []
        for file in try Self.names.get() {
            let known = try #require(try decide(file, replacing: nil))
            for (name, meaning) in meanings {
                let place: Comment = "\(name) of \(file)"
                do throws(any Error) {
                    guard let unknown = try decide(file, replacing: name) else { continue }
                    seen.insert(name)
                    switch meaning {
                    case .nothing, .several: #expect(unknown == known, place)
                    case .refused: Issue.record("accepted: \(name) of \(file)")
                    case .revoked:
                        for item in unknown.items {
                            guard case .revoked = item.access else {
                                Issue.record("not revoked: \(file)")
                                continue
                            }
                        }
                    case .undetermined:
                        for (unknown, known) in zip(unknown.items, known.items) {
                            #expect(!unknown.access.isGrantable, place)
                            #expect(unknown.ownedQuantity ?? known.ownedQuantity == known.ownedQuantity, place)
                            guard known.access.isGrantable || known.access == .lengthUnknown else { continue }
                            #expect(unknown.access == .undetermined, place)
                        }
                    }
                } catch let error as VerificationError {
                    seen.insert(name)
                    #expect(meaning == .refused && error.code == .unknownEnvironment, "\(name) of \(file): \(error)")
                }
            }
        }
        // What decides is in the vectors.
        #expect(Set(meanings.filter { $0.value != .nothing }.keys).subtracting(seen) == [])
    }

    @Test func `the table has members that this version knows, each meaning, and no other`() {
        let names = Set(
            TransactionInfo.Member.allCases.map(\.rawValue) + RenewalInfo.Member.allCases.map(\.rawValue)
                + AppTransaction.Member.allCases.map(\.rawValue) + AppStoreNotification.Member.allCases.map(\.rawValue)
                + NotificationData.Member.allCases.map(\.rawValue) + MultiSeatInfo.Member.allCases.map(\.rawValue)
                + ExternalPurchaseToken.Member.allCases.map(\.rawValue))
        #expect(Set(meanings.keys).subtracting(names) == [])
        #expect(Set(meanings.values) == Set(Meaning.allCases))
    }

    @Test func `a period of an unknown type or ownership replaces nothing`() throws {
        for change in [
            { $0.type = ProductType(rawValue: "Rental") }, { $0.ownership = OwnershipType(rawValue: "RENTED") },
        ] as [(inout Transaction) -> Void] {
            var other = Transaction.period("2", 10..<40, "gold")
            change(&other)
            let entitlements = try EvidenceSource.transactions.entitlements(
                of: [.period("1", 0..<30), other], at: day(20))
            #expect(entitlements.codes == ["1": "active", "2": "undetermined"])
            #expect(entitlements.subscriptions.count == 1 && entitlements.items[1].ownedQuantity == nil)
            other.revoked = 15
            let refunded = try EvidenceSource.transactions.entitlements(of: [other], at: day(20))
            #expect(refunded.codes == ["2": "revoked"] && refunded.items[0].ownedQuantity == 0)
        }
    }

    @Test func `an unknown renewal status says neither that it renews nor that it does not`() throws {
        for (status, expected) in [(0, false), (1, true), (2, nil)] as [(Int64, Bool?)] {
            var builder = JWSBuilder.renewalInfo(productID: "basic", originalTransactionID: "1")
            builder.autoRenewStatus = AutoRenewStatus(rawValue: status)
            let evidence = [
                try Transaction.period("1", 0..<30).verified(), try verifier.verify(builder.signed(by: authority)),
            ]
            let subscription = try #require(Entitlements(evidence, at: day(10)).subscriptions.first)
            #expect(subscription.willRenew == expected && subscription.isActive)
        }
    }
}
