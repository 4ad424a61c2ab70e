import Foundation
import Testing

/// A client switches over the values of an enumeration: one that may get more says so, or a new value breaks the
/// client.
@Suite struct EnumerationsTests {
    /// Those that a new value is meant to break, because a client has to decide about it.
    private static let closed: Set = [
        "BillingPeriod", "CMSPolicy.RevocationChecking", "EnvironmentEvidence", "EnvironmentNotification",
        "FakeAnswer.Delivery",
        "FakeAppStore.TokenClock",
        "IntroductoryOfferUse", "JSONValue", "NotificationHistoryQuery.Filter", "NotificationReceivers",
        "SignedItem", "SigningKey.Kind", "TransactionHistoryQuery.Sort",
        "VerificationPolicy.ValidationDate",
    ]

    @Test func `every public enumeration can grow, or is closed on purpose`() throws {
        let folder = Compiler.package.appending(path: "Tests/PublicAPI")
        var closed: Set<String> = []
        for file in try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil) {
            for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
            where line.hasPrefix("enum ") {
                let name = line.dropFirst("enum ".count).prefix { $0 != ":" && $0 != "<" }
                closed.insert(String(name))
            }
        }
        #expect(closed == Self.closed)
    }
}
