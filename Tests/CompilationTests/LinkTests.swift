import Foundation
import Testing

/// What a program contains that links a product of this package.
@Suite struct LinkTests {
    /// The modules of a verifier.
    private static let verifier = [
        "CBase64", "LargeMemory", "Instants", "SpanASN1", "SpanPKCS7", "StrictText", "LibcryptoHandles",
        "SignatureTrust",
        "AppStoreReceipt",
    ]

    /// The objects of a module, of the sources that it has now.
    private func objects(of module: String) throws -> [String] {
        let build = try Compiler.modules().deletingLastPathComponent().appending(path: "\(module).build")
        let files = FileManager.default.enumerator(atPath: Compiler.package.path + "/Sources/\(module)")
        let sources = files?.compactMap { $0 as? String }.filter { $0.hasSuffix(".swift") || $0.hasSuffix(".c") } ?? []
        try #require(!sources.isEmpty)
        return sources.map { build.appending(path: URL(filePath: $0).lastPathComponent + ".o").path }
    }

    /// Links a program with these modules and no other, and returns the names of its symbols.
    private func symbols(of code: String, with modules: [String]) throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let (file, program) = (folder.appending(path: "main.swift"), folder.appending(path: "program"))
        try code.write(to: file, atomically: true, encoding: .utf8)
        let (status, output) = try Compiler.run(
            [
                "swiftc", "-swift-version", "6", "-I", try Compiler.modules().path, "-o", program.path, file.path,
                "-lcrypto",
            ]
                + Compiler.modulesOfC + modules.flatMap { try objects(of: $0) })
        try #require(status == 0, "\(output)")
        return try Compiler.run(["nm", program.path]).output
    }

    @Test func `who links only the verifier has nothing of what signs`() throws {
        let verifying = """
            import AppStoreReceipt
            print(try AppStoreVerifier(bundleID: "com.example.app", environments: [.production]))
            """
        let verifier = try symbols(of: verifying, with: Self.verifier)
        #expect(verifier.contains("AppStoreReceipt"))
        for other in ["AppStoreSigning", "AppStoreServer"] { #expect(!verifier.contains(other), "\(other)") }
        let signing = """
            import AppStoreSigning
            print(try InAppPurchaseKey(p8: []))
            """
        let signer = try symbols(of: signing, with: Self.verifier.dropLast() + ["AppStoreSigning"])
        #expect(signer.contains("AppStoreSigning") && !signer.contains("15AppStoreReceipt"))
    }
}
