package import AppStoreReceipt
package import Foundation
import SpanPKCS7

/// What Apple and Xcode have signed, from the folder that the environment variable `RECEIPT_CORPUS` names. These are
/// other people's purchases, and no part of the project: tests skip without them.
package enum Corpus {
    package static let folder = ProcessInfo.processInfo.environment["RECEIPT_CORPUS"].map { URL(filePath: $0) }
    package static let isPresent = folder != nil

    /// The files of one kind, by name.
    package static func files(_ name: String) -> [URL] {
        guard let folder else { return [] }
        let files = try? FileManager.default.contentsOfDirectory(
            at: folder.appending(path: name), includingPropertiesForKeys: nil)
        return (files ?? []).sorted { $0.lastPathComponent < $1.lastPathComponent }
    }

    package static let receipts = files("receipts").filter { $0.pathExtension == "der" }
    package static let apple = receipts.filter { !isSignedByXcode($0) }
    package static let xcode = receipts.filter(isSignedByXcode)
    /// Receipts that are cut off.
    package static let malformed = files("malformed").filter { $0.pathExtension == "der" }

    private static func isSignedByXcode(_ file: URL) -> Bool { file.lastPathComponent.hasPrefix("xcode") }

    package static func bytes(_ file: URL) throws -> [UInt8] { Array(try Data(contentsOf: file)) }

    /// The JWS whose names begin alike.
    package static func jws(_ prefix: String) throws -> [(name: String, jws: String)] {
        try files("jws").filter { $0.lastPathComponent.hasPrefix(prefix) }
            .map { ($0.lastPathComponent, try String(contentsOf: $0, encoding: .utf8)) }
    }

    /// The first certificate in a receipt: the signer's, for one of Xcode's.
    package static func certificate(in receipt: [UInt8]) throws -> TrustAnchor {
        let received = try ReceivedMessage(receipt)
        var certificates = try SignedData(ContentInfo(received.der.span)).certificates
        guard let certificate = try certificates.next() else { throw CocoaError(.fileReadCorruptFile) }
        return try TrustAnchor(der: [UInt8](copying: certificate.element.encoded))
    }

    /// The first certificate in the header of a JWS.
    package static func certificate(inHeaderOf jws: String) throws -> TrustAnchor {
        let header = jws.prefix { $0 != "." }.replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - header.utf8.count % 4) % 4)
        let object = try JSONSerialization.jsonObject(with: Data(base64Encoded: header + padding) ?? Data())
        guard let certificates = (object as? NSDictionary)?["x5c"] as? [String],
            let certificate = certificates.first.flatMap({ Data(base64Encoded: $0) })
        else { throw CocoaError(.fileReadCorruptFile) }
        return try TrustAnchor(der: Array(certificate))
    }
}

// MARK: - What an independent decoder says

extension Corpus {
    /// Every attribute of a receipt by number, as text.
    package struct Expected: Sendable {
        package let outer: [String: String]
        package let purchases: [[String: String]]
    }

    /// The lines of `expected.jsonl`, as objects.
    package static func expectedObjects() throws -> [NSDictionary] {
        guard let folder else { return [] }
        return try String(contentsOf: folder.appending(path: "expected.jsonl"), encoding: .utf8).split(separator: "\n")
            .map { try JSONSerialization.jsonObject(with: Data($0.utf8)) as? NSDictionary ?? [:] }
    }

    /// By the name of the receipt's file.
    package static let expected: [String: Expected] = {
        func texts(_ object: Any?) -> [String: String] {
            (object as? [String: Any] ?? [:]).mapValues { value in
                if let text = value as? String { text } else { "\(value)" }
            }
        }
        var expected: [String: Expected] = [:]
        for object in (try? expectedObjects()) ?? [] {
            guard let file = object["file"] as? String, let purchases = object["in_app"] as? [Any] else { continue }
            expected[file] = Expected(outer: texts(object["outer"]), purchases: purchases.map(texts))
        }
        return expected
    }()
}
