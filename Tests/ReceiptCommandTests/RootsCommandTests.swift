import AppStoreReceiptTesting
import SignatureTrust
import Instants
import TestSupport
import Testing

@testable import receipt

@Suite struct RootsCommandTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A bundle of Apple's roots and one more.
    private func bundle(_ change: (inout TestCertificateAuthority.Shape) -> Void) throws -> String {
        var shape = TestCertificateAuthority.Shape()
        shape.root.subject = DistinguishedName(.organization("Apple Inc."), .commonName("Apple Root CA - G4"))
        change(&shape)
        let root = try TestCertificateAuthority(shape).root.certificate
        let all = TrustAnchor.appleRoots.map(\.der) + [root]
        return try folder.write("bundle.pem", all.map { pem("CERTIFICATE", $0) }.joined())
    }

    @Test func `the roots that are trusted by default are listed with their fingerprints`() throws {
        let result = run("roots")
        #expect(result.status == 0)
        let lines = result.output.split(separator: "\n")
        #expect(lines.count == TrustAnchor.appleRoots.count)
        for (line, root) in zip(lines, TrustAnchor.appleRoots) {
            #expect(try line.hasPrefix(Fingerprint(of: root.der.span).description) && line.contains("Apple Root CA"))
        }
    }

    @Test func `a bundle with another valid root of Apple is refused, and one with an expired or a stranger's is not`()
        throws
    {
        let pinned = try folder.write(
            "pinned.pem", TrustAnchor.appleRoots.map { pem("CERTIFICATE", $0.der) }.joined())
        #expect(run("roots", pinned).status == 0)
        let another = run("roots", pinned, try bundle { _ in })
        #expect(another.status == 1 && another.output.contains(": not trusted by default: "))
        #expect(another.output.contains("CN=Apple Root CA - G4"))
        let expired = run("roots", try bundle { $0.root.notAfter = Instant(millisecondsSince1970: 1_700_000_000_000) })
        #expect(expired.status == 0 && expired.output.contains(": expired: "))
        let stranger = run("roots", try bundle { $0.root.subject = DistinguishedName(.commonName("Apple")) })
        #expect(stranger.status == 0 && !stranger.output.contains("CN=Apple,"))
    }

    @Test func `the roots are printed in PEM, as --root takes them`() throws {
        let printed = run("roots", "--pem")
        #expect(printed.status == 0)
        #expect(printed.output == TrustAnchor.appleRoots.map { pem("CERTIFICATE", $0.der) }.joined())
        let own = try pem("CERTIFICATE", Minted.authority.root.certificate)
        let both = try folder.write("roots.pem", printed.output + own)
        let receipt = try folder.write("receipt", ReceiptBuilder(bundleID: "a.b").signed(by: Minted.authority))
        #expect(run("verify", "--root", both, receipt).status == 0)
        #expect(run("roots", "--pem", both).errorOutput.contains("--pem and FILE exclude each other"))
    }

    @Test func `a bundle without Apple's roots, or that is none, is unusable`() throws {
        let stranger = try folder.write("other.pem", pem("CERTIFICATE", Minted.authority.root.certificate))
        for file in [stranger, try folder.write("empty.pem", ""), "/nowhere/at/all.pem"] {
            let result = run("roots", file)
            #expect(result.status == 2 && result.output.isEmpty && !result.errorOutput.isEmpty)
        }
    }
}
