package import Foundation

/// The files of this project.
package enum Project {
    package static let root = URL(filePath: #filePath).appending(path: "../../..").standardized

    package static func url(_ path: String) -> URL { root.appending(path: path) }
    package static func text(_ path: String) throws -> String { try String(contentsOf: url(path), encoding: .utf8) }
    package static func bytes(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: url(path))) }

    /// The lines of a text, except empty ones.
    package static func lines(of path: String) throws -> [String] {
        try text(path).split(separator: "\n").map(String.init)
    }

    /// The blocks of Swift code on a page, without their imports.
    package static func code(of page: String) -> [String] {
        page.components(separatedBy: "```swift\n").dropFirst().map { part in
            let paragraphs = part.components(separatedBy: "```\n")[0].components(separatedBy: "\n\n")
            return paragraphs.drop { $0.hasPrefix("import ") }.joined(separator: "\n\n")
        }
    }
}

/// The messages that `scripts/check/generate-openssl-messages` made with OpenSSL.
package enum OpenSSLFiles {
    package static let directory = Project.url("TestVectors/pkcs7/openssl")

    /// The messages that can be read.
    package static let messages: [String] = {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        let damaged = ["trailing-byte.der", "truncated.der"]
        return names.filter { name in
            (name.hasSuffix(".der") || name.hasSuffix(".pem")) && !name.contains(".cr") && !damaged.contains(name)
        }.sorted()
    }()

    /// The bytes of a file; those of the first object of a PEM file decoded.
    package static func bytes(_ name: String) throws -> [UInt8] {
        let data = try Data(contentsOf: directory.appending(path: name))
        return name.hasSuffix(".pem") ? try pem(data) : Array(data)
    }

    /// The first object of a PEM text.
    package static func pem(_ text: Data) throws -> [UInt8] {
        let lines = String(decoding: text, as: UTF8.self).split(whereSeparator: \.isNewline)
        guard let first = lines.firstIndex(where: { $0.hasPrefix("-----BEGIN ") }),
            let last = lines.firstIndex(where: { $0.hasPrefix("-----END ") }), first < last,
            let data = Data(base64Encoded: lines[(first + 1)..<last].joined())
        else { throw CocoaError(.fileReadCorruptFile) }
        return Array(data)
    }
}
