import Foundation
import Testing

/// What `scripts/generate-openssl-messages` wrote.
enum OpenSSLFiles {
    static let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../TestVectors/pkcs7/openssl")

    /// The messages that are meant to be read.
    static let messages: [String] = {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        let damaged = ["trailing-byte.der", "truncated.der"]
        return names.filter { name in
            (name.hasSuffix(".der") || name.hasSuffix(".pem")) && !name.contains(".cr") && !damaged.contains(name)
        }.sorted()
    }()

    static func bytes(_ name: String) throws -> [UInt8] {
        let data = try Data(contentsOf: directory.appendingPathComponent(name))
        return name.hasSuffix(".pem") ? try pem(data) : [UInt8](data)
    }

    /// The first object of a PEM text.
    static func pem(_ data: Data) throws -> [UInt8] {
        let lines = String(decoding: data, as: UTF8.self).split(whereSeparator: \.isNewline)
        let first = try #require(lines.firstIndex { $0.hasPrefix("-----BEGIN ") })
        let last = try #require(lines.firstIndex { $0.hasPrefix("-----END ") })
        return [UInt8](try #require(Data(base64Encoded: lines[(first + 1)..<last].joined())))
    }
}
