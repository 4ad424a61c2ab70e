import Foundation
import Testing

/// A room is a part of a module that compiles without the rest of it, so that it cannot know what it must not.
@Suite struct RoomTests {
    /// What decides: plain purchases, and the values in them.
    private static let decisions = [
        "Entitlements", "Purchases/ProductType.swift", "Purchases/Purchase.swift", "Purchases/AppAccountToken.swift",
        "Purchases/StoredField.swift", "Purchases/StoredPurchase.swift", "Purchases/StoredRecord.swift",
        "Purchases/SubscriptionRenewal.swift", "JWS/JWSValues.swift", "JWS/OpenStringValue.swift",
        "AppStoreEnvironment.swift", "Exports.swift", "String+NonZero.swift", "Output/JSONWriter+Values.swift",
        "Output/OutputMember.swift",
    ]

    /// What nothing else in the module may use: it stands above all the rest.
    private static let upper = ["Decision", "VerifyReceipt"]

    /// All Swift files of the module, by their paths in it.
    private static let files =
        (FileManager.default.enumerator(atPath: sources.path)?.compactMap { $0 as? String } ?? [])
        .filter { $0.hasSuffix(".swift") }
    private static let sources = Compiler.package.appending(path: "Sources/AppStoreReceipt")

    /// Type-checks the files at these paths, or in these folders, and one more.
    private func compile(_ room: [String], with code: String = "") throws -> (status: Int32, output: String) {
        let files = Self.files.filter { file in room.contains { file == $0 || file.hasPrefix($0 + "/") } }
            .map { Self.sources.appending(path: $0) }
        try #require(files.count >= room.count)
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let own = folder.appending(path: "Own.swift")
        try Data(code.utf8).write(to: own)
        // SwiftPM's name of a package is that of its folder.
        let package = Compiler.package.lastPathComponent.lowercased().map { $0.isLetter || $0.isNumber ? $0 : "_" }
        return try Compiler.run(
            [
                "swiftc", "-typecheck", "-swift-version", "6", "-module-name", "Room", "-package-name", String(package),
                "-enable-upcoming-feature", "InternalImportsByDefault", "-enable-experimental-feature", "Lifetimes",
                "-I", try Compiler.modules().path,
            ] + Compiler.modulesOfC + (files + [own]).map(\.path))
    }

    @Test func `decisions know plain purchases alone, and pass a verification on without looking into it`() throws {
        let verification = "public struct SignerVerification: Hashable, Sendable {}\n"
        let (status, output) = try compile(Self.decisions, with: verification)
        #expect(status == 0, "\(output)")
        for name in ["VerifiedReceipt", "VerifiedEvidence", "AppStoreVerifier", "TransactionInfo"] {
            let (status, output) = try compile(Self.decisions, with: verification + "func see(_: \(name)) {}\n")
            #expect(status != 0 && output.contains("cannot find type '\(name)' in scope"), "\(output)")
        }
    }

    @Test func `nothing below decisions on evidence and the answer of verifyReceipt uses them`() throws {
        let below = Self.files.filter { file in !Self.upper.contains { file.hasPrefix($0 + "/") } }
        #expect(below.count < Self.files.count)
        let (status, output) = try compile(below)
        #expect(status == 0, "\(output)")
    }
}
