import Foundation
import Testing

/// The code for apps, which needs StoreKit, compiles with types of the same shape.
@Suite struct ClientTests {
    private static let storeKit = """
        import Foundation
        public enum VerificationResult<Value> { case verified(Value), unverified(Value, any Error) }
        public struct Transaction: Sendable {
            public let id: UInt64
            public static func latest(for productID: String) async -> VerificationResult<Transaction>? { nil }
        }
        public struct Product: Sendable {
            public let id: String
            public struct PurchaseOption: Hashable, Sendable {
                public static func promotionalOffer(_ offerID: String, compactJWS: String) -> [PurchaseOption] { [] }
                public static func appAccountToken(_ token: UUID) -> PurchaseOption { PurchaseOption() }
            }
            public enum PurchaseResult { case success(VerificationResult<Transaction>), userCancelled, pending }
            public func purchase(options: Set<PurchaseOption> = []) async throws -> PurchaseResult { .pending }
        }
        """

    @Test func `the app's half of the article on offers compiles`() throws {
        let article = try String(
            contentsOf: Compiler.package.appending(
                path: "Sources/AppStoreSigning/AppStoreSigning.docc/SigningOffers.md"), encoding: .utf8)
        let blocks = article.components(separatedBy: "```swift\n").dropFirst()
            .map { $0.components(separatedBy: "```\n")[0] }
        let code = try #require(blocks.last { $0.contains("compactJWS") })
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (module, client) = (folder.appending(path: "StoreKit.swift"), folder.appending(path: "Client.swift"))
        try Self.storeKit.write(to: module, atomically: true, encoding: .utf8)
        try code.write(to: client, atomically: true, encoding: .utf8)
        let made = try Compiler.run(
            [
                "swiftc", "-swift-version", "6", "-emit-module", "-module-name", "StoreKit", "-o",
                folder.appending(path: "StoreKit.swiftmodule").path, module.path,
            ])
        try #require(made.status == 0, "\(made.output)")
        let outcome = try Compiler.run(
            ["swiftc", "-swift-version", "6", "-typecheck", "-I", folder.path, client.path])
        #expect(outcome.status == 0 && outcome.output.isEmpty, "\(outcome.output)")
    }
}
