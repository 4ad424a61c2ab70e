import Foundation
import Glibc
import TestSupport
import Testing

@testable import receipt

@Suite struct CMSCommandTests {
    private static let vectors = OpenSSLFiles.directory.path

    private let root = vector("root.crt.der")

    private static func vector(_ name: String) -> String { "\(vectors)/\(name)" }

    @Test func `a verified message is shown with its signers and their chains`() {
        let result = run("cms", "--root", root, Self.vector("two-digests.der"))
        #expect(result.status == 0 && result.errorOutput.isEmpty)
        #expect(result.output.hasPrefix("VERIFIED  \(Self.vector("two-digests.der")), signed by 2\n"))
        #expect(result.output.contains("Content              data, 40 bytes\n"))
        #expect(result.output.contains("RSASSA-PSS with SHA-384"))
        #expect(result.output.contains("RSA PKCS#1 v1.5 with SHA-256"))
        #expect(result.lines.count { $0.drop { $0 == " " } == "CN=root,O=Messages for tests,C=DE" } == 2)
        #expect(
            result.output.contains("signed attributes  contentType, signingTime, messageDigest, smimeCapabilities\n"))
    }

    @Test(arguments: [
        (["tampered-content.der"], "content-digest-mismatch"), (["rsa-sha1.der"], "weak-algorithm"),
        (["rsa-sha256.der", "--purpose", "code"], "invalid-extended-key-usage"),
        (["rsa-sha256.der", "--purpose", "1.2.3"], "invalid-extended-key-usage"),
        (["rsa-sha256.der", "--at", "2024-01-01T00:00:00Z"], "certificate-not-yet-valid"),
        (["rsa-sha256.der", "--revocation", "signer"], "missing-revocation-list"),
        (["no-intermediate.der"], "untrusted-chain"), (["detached.der"], "missing-content"),
        (["truncated.der"], "truncated"), (["certificates.der"], "signer-count"),
    ])
    func `a message that is refused ends with status 1 and says why`(words: [String], code: String) {
        let words = ["cms", "--root", root, Self.vector(words[0])] + words.dropFirst()
        let result = run(words)
        #expect(result.status == 1 && result.errorOutput.isEmpty)
        #expect(result.output.hasPrefix("REFUSED  \(words[3]): \(code)\n"), "\(result.output)")
        let object = try? run(words + ["--format", "json"]).objects().first
        #expect(object?["verified"] as? Bool == false)
        #expect((object?["error"] as? NSDictionary)?["code"] as? String == code)
    }

    @Test(arguments: [
        ["rsa-sha1.der", "--allow-sha1"], ["email.der", "--purpose", "email"], ["time.der", "--purpose", "time"],
        ["code.der", "--purpose", "1.3.6.1.5.5.7.3.3"], ["rsa-sha256.der", "--at", "signing"],
        ["rsa-sha256.der", "--at", "2030-01-01T00:00:00Z"], ["pem.pem"], ["indefinite.der"],
        ["no-intermediate.der", "--intermediate", "intermediate.crt.der"],
        ["detached.der", "--content", "text"],
        ["rsa-sha256.der", "--crl", "intermediate.crl.der", "--at", "2026-06-01T00:00:00Z"],
        [
            "rsa-sha256.der", "--crl", "intermediate.crl.der", "--crl", "root.crl.der", "--revocation", "chain",
            "--at", "2026-06-01T00:00:00Z",
        ],
    ])
    func `what verification needs is given by options`(words: [String]) throws {
        let files = words.map { word in
            FileManager.default.fileExists(atPath: Self.vector(word)) ? Self.vector(word) : word
        }
        let result = run(["cms", "--root", root] + files)
        #expect(result.status == 0, "\(result.output)\(result.errorOutput)")
        #expect(result.output.hasPrefix("VERIFIED"))
        let object = try run(["cms", "--root", root, "--format", "json"] + files).objects().first
        #expect(object?["verified"] as? Bool == true)
    }

    @Test func `a file with several messages is refused, as one verdict would be taken for all`() throws {
        let folder = try TemporaryFolder()
        let message = try Data(contentsOf: URL(filePath: Self.vector("pem.pem")))
        let file = try folder.write("two.pem", Array(message + message))
        let result = run("cms", "--root", root, file)
        #expect(result.status == 2 && result.output.isEmpty)
        #expect(result.errorOutput.contains("the file has 2 PEM blocks; it must have one, the message"))
    }

    @Test(arguments: [
        ("certificate", "--intermediate"), ("certificate in PEM", "--intermediate"), ("revocation list", "--crl"),
        ("time-stamp response", "openssl ts"), ("time-stamp query", "nobody has signed"), ("mail", "smime.p7s"),
        ("JWS", "receipt verify"),
    ])
    func `what is no message is named, with what to do with it`(kind: String, advice: String) throws {
        let folder = try TemporaryFolder()
        let certificate = try Data(contentsOf: URL(filePath: root))
        let message = try Data(contentsOf: URL(filePath: Self.vector("rsa-sha256.der")))
        let input: Data =
            switch kind {
            case "certificate": certificate
            case "certificate in PEM":
                Data(
                    "-----BEGIN CERTIFICATE-----\n\(certificate.base64EncodedString())\n-----END CERTIFICATE-----\n"
                        .utf8)
            case "revocation list": try Data(contentsOf: URL(filePath: Self.vector("root.crl.der")))
            // PKIStatusInfo with the status 0, and the token.
            case "time-stamp response": Self.sequence(Data([0x30, 0x03, 0x02, 0x01, 0x00]) + message)
            // The version 1, and the digest of nothing.
            case "time-stamp query":
                Self.sequence(
                    Data([
                        0x02, 0x01, 0x01, 0x30, 0x0B, 0x30, 0x07, 0x06, 0x05, 0x2B, 0x0E, 0x03, 0x02, 0x1A, 0x04, 0x00,
                    ]))
            case "mail": Data("MIME-Version: 1.0\r\nContent-Type: multipart/signed; boundary=x\r\n\r\n--x\r\n".utf8)
            default: Data("eyJhbGciOiJFUzI1NiJ9.e30.AA".utf8)
            }
        let file = try folder.write("file", Array(input))
        for options in [["--root", root], []] {
            let result = run(["cms"] + options + [file])
            #expect(result.status == 1)
            #expect(result.output.contains("This is a \(kind.prefix { $0 != " " })"), "\(result.output)")
            #expect(result.output.contains(advice), "\(result.output)")
            let object = try run(["cms", "--format", "json", file] + options).objects().first
            let said = (object?["error"] as? NSDictionary)?["advice"] as? String
            #expect(said?.contains(advice) == true)
        }
    }

    private static func sequence(_ contents: Data) -> Data {
        let count = contents.count
        return Data(count < 128 ? [0x30, UInt8(count)] : [0x30, 0x82, UInt8(count >> 8), UInt8(count & 0xFF)])
            + contents
    }

    @Test(arguments: [
        (["no-intermediate.der"], "--intermediate"), (["rsa-sha1.der"], "--allow-sha1"),
        (["detached.der"], "--content"),
        (["rsa-sha256.der", "--at", "2024-01-01T00:00:00Z"], "--at DATE"),
        (["rsa-sha256.der", "--at", "2300-01-01T00:00:00Z"], "--at signing"),
        (["rsa-sha256.der", "--revocation", "signer"], "--crl"),
        (["rsa-sha256.der", "--purpose", "code"], "--purpose"),
    ])
    func `a refusal says which option helps`(words: [String], option: String) throws {
        let words = ["cms", "--root", root, Self.vector(words[0])] + words.dropFirst()
        let result = run(words)
        #expect(result.status == 1 && result.output.contains(option), "\(result.output)")
        let error = try run(words + ["--format", "json"]).objects().first?["error"] as? NSDictionary
        #expect((error?["advice"] as? String)?.contains(option) == true)
    }

    @Test func `of several files and certificates, the one at fault is named`() throws {
        let folder = try TemporaryFolder()
        func pem(_ names: [String], _ label: String) throws -> [UInt8] {
            try names.flatMap { name in
                let data = try Data(contentsOf: URL(filePath: Self.vector(name)))
                return Array("-----BEGIN \(label)-----\n\(data.base64EncodedString())\n-----END \(label)-----\n".utf8)
            }
        }
        let roots = try folder.write("roots.pem", pem(["intermediate.crt.der", "intermediate.crt.der"], "CERTIFICATE"))
        let message = Self.vector("rsa-sha256.der")
        var result = run("cms", "--root", roots, message)
        #expect(
            result.status == 2 && result.errorOutput.contains("\(roots), certificate 1 of 2: "), "\(result.errorOutput)"
        )
        // The others are used, and if no chain ends in them, the one that is not used is named.
        result = run("cms", "--root", root, "--root", roots, message)
        #expect(result.status == 0)
        result = run("cms", "--root", root, "--root", roots, Self.vector("no-intermediate.der"))
        #expect(result.output.contains("\(roots), certificate 2 of 2: "), "\(result.output)")
        let lists = try folder.write("lists.pem", pem(["root.crl.der", "root.crt.der"], "X509 CRL"))
        result = run("cms", "--root", root, "--crl", Self.vector("root.crl.der"), "--crl", lists, message)
        #expect(result.status == 2 && result.errorOutput.contains("\(lists), list 2 of 2: "), "\(result.errorOutput)")
    }

    @Test func `the word verify may stand before the file`() {
        let message = Self.vector("rsa-sha256.der")
        let options = ["--root", root, "--at", "2030-01-01", message]
        #expect(run(["cms", "verify"] + options).output == run(["cms"] + options).output)
        #expect(run("cms", "--root", root, message, message).status == 2)
        #expect(run("cms", "verify", message, message).status == 2)
    }

    @Test func `the content of a detached message is read to its end`() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("content", [])
        let byteCount = FileInput.maximumFileByteCount + 1
        #expect(unsafe truncate(file, off_t(byteCount)) == 0)
        #expect(try CMSFile(name: file).content().count == byteCount)
        #expect(throws: CMSFileError.self) { try CMSFile(name: file).message() }
    }

    @Test func `without a root a message is shown, and is not verified`() throws {
        let result = run("cms", Self.vector("rsa-sha256.der"))
        #expect(result.status == 1)
        #expect(result.output.hasPrefix("UNVERIFIED"))
        #expect(result.output.contains("CN=alice,O=Messages for tests,C=DE"))
        #expect(run("cms", Self.vector("type-envelopedData.der")).output.contains("Type     envelopedData\n"))
        #expect(
            run("cms", Self.vector("certificates-and-list.der")).output.contains("Revocation list  of CN=intermediate,")
        )
        #expect(run("cms", Self.vector("truncated.der")).output.contains("an element runs past the end"))
    }

    @Test func `JSON has the verdict and what the message says of itself`() throws {
        let object = try #require(
            try run("cms", "--root", root, "--format=json", Self.vector("two-digests.der")).objects().first)
        let signers = try #require(object["signers"] as? [NSDictionary])
        #expect(signers.map { $0["digest"] as? String } == ["SHA-256", "SHA-384"])
        #expect(signers.allSatisfy { ($0["chain"] as? [String])?.count == 3 })
        #expect(object["content"] as? NSDictionary == ["type": "data", "bytes": 40])
        let message = try #require(object["message"] as? NSDictionary)
        #expect((message["certificates"] as? [NSDictionary])?.count == 3)
        #expect(message["version"] as? Int == 1)
    }

    @Test func `the content is written once it is verified, and only then`() throws {
        let folder = try TemporaryFolder()
        let file = folder.url.appendingPathComponent("content").path
        #expect(run("cms", "--root", root, "--out", file, Self.vector("tampered-content.der")).status == 1)
        #expect(!FileManager.default.fileExists(atPath: file))
        #expect(run("cms", "--root", root, "--out", file, Self.vector("rsa-sha256.der")).status == 0)
        #expect(FileManager.default.contents(atPath: file) == FileManager.default.contents(atPath: Self.vector("text")))
        let nowhere = run("cms", "--root", root, "--out", "/nowhere/at/all", Self.vector("rsa-sha256.der"))
        #expect(nowhere.status == 2 && nowhere.errorOutput.contains("/nowhere/at/all"))
    }

    @Test(arguments: [
        ["--root", "/no/such/file"], ["--content", "/no/such/file"], ["--crl", "/no/such/file"],
        ["--crl", vector("root.crt.der")], ["--intermediate", vector("text")],
    ])
    func `files that cannot be used end with status 2`(words: [String]) {
        let result = run(["cms", "--root", root, Self.vector("rsa-sha256.der")] + words)
        #expect(result.status == 2)
        #expect(result.output.isEmpty && !result.errorOutput.isEmpty)
    }
}
