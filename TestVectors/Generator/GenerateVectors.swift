import AppStoreReceipt
import AppStoreReceiptTesting
import Foundation

/// Writes the test vectors, or checks that the tree holds what it would write.
@main
struct GenerateVectors {
    static let folders = [
        "asn1", "pkcs7", "receipts", "certificates", "requests", "jws", "cms", "transaction-receipts", "clients",
    ]

    static func main() throws {
        var arguments = CommandLine.arguments.dropFirst()
        let isCheck = arguments.first == "--check"
        let isComparison = arguments.first == "--compare-with-openssl"
        if isCheck || isComparison { arguments.removeFirst() }
        guard arguments.count <= 1, arguments.first?.hasPrefix("-") != true else {
            print(
                "usage: generate-vectors [--check | --compare-with-openssl] [DIRECTORY]\nDIRECTORY is TestVectors if not given."
            )
            exit(2)
        }
        let directory = URL(fileURLWithPath: arguments.first ?? "TestVectors")
        if isComparison {
            let file = directory.appendingPathComponent("expectations.json")
            let comparison = try OpenSSLComparison(
                JSONDecoder().decode([VectorExpectation].self, from: Data(contentsOf: file)), directory: directory)
            comparison.print()
            exit(comparison.disagreements.allSatisfy { $0.reason != nil } ? 0 : 1)
        }
        let forge = try Forge(directory: directory, makesMissingKeys: !isCheck)
        let (files, problems) = try generate(with: forge)
        guard problems.isEmpty else {
            for problem in problems { print(problem) }
            print("\(problems.count) vectors are not what they are said to be; nothing is written")
            exit(1)
        }
        let differences = try compare(files, directory)
        if isCheck {
            for difference in differences { print(difference) }
            print("\(files.count) files, \(differences.count) differences")
            exit(differences.isEmpty ? 0 : 1)
        }
        try write(files, directory)
        print("\(files.count) files, \(differences.count) of them changed")
    }

    /// All files by name, and what is wrong with the vectors.
    static func generate(with forge: Forge) throws -> (files: [String: [UInt8]], problems: [String]) {
        let anchors = try forge.anchors()
        var files: [String: [UInt8]] = [:]
        for (name, certificate) in anchors { files["authority/" + name] = certificate }
        var expectations: [VectorExpectation] = []
        var problems: [String] = []
        for vector in Vector.all {
            let input = try forge.make(vector.base + vector.fault)
            let expected: Verdict =
                switch vector.expected {
                case .accepted(let purchases): .accepted(purchases: purchases)
                case .refused(let stage, let code, let place):
                    .refused(code: code, stage: stage.rawValue, offset: place.offset(in: input))
                }
            let options = try forge.options(vector.base + vector.fault)
            let verdict = options.verify(input, with: try options.verifier { anchors[$0] ?? [] })
            if verdict != expected { problems.append("\(vector.file): \(verdict) instead of \(expected)") }
            if !vector.fault.isEmpty {
                let options = try forge.options(vector.base)
                let twin = options.verify(
                    try forge.make(vector.base), with: try options.verifier { anchors[$0] ?? [] })
                if case .refused = twin { problems.append("\(vector.file): without its fault \(twin)") }
            }
            if files.updateValue(input, forKey: vector.file) != nil {
                problems.append("\(vector.file): twice")
            }
            expectations.append(VectorExpectation(vector, options, expected))
        }
        files["expectations.json"] = Array(try json(expectations.sorted { $0.file < $1.file }).utf8)
        // Before the file of signatures, which has those of theirs.
        let clients = try ClientVector.generate(with: forge, anchors)
        files.merge(clients.files) { _, new in new }
        problems += clients.problems
        let signed = try JWSVector.generate(with: forge, anchors)
        files.merge(signed.files) { _, new in new }
        problems += signed.problems
        let messages = try CMSVector.generate(with: forge, anchors)
        files.merge(messages.files) { _, new in new }
        problems += messages.problems
        let transactions = try TransactionVector.generate(with: forge, anchors)
        files.merge(transactions.files) { _, new in new }
        problems += transactions.problems
        return (files, problems)
    }

    /// One line to each vector.
    static func json(_ expectations: [some Encodable]) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let lines =
            try expectations
            .map { String(decoding: try encoder.encode($0), as: UTF8.self) }
        return "[\n" + lines.joined(separator: ",\n") + "\n]\n"
    }

    // MARK: Files

    /// What differs, is missing, or is there and should not be.
    static func compare(_ files: [String: [UInt8]], _ directory: URL) throws -> [String] {
        var differences: [String] = []
        for (name, contents) in files.sorted(by: { $0.key < $1.key }) {
            switch try? Data(contentsOf: directory.appendingPathComponent(name)) {
            case nil: differences.append("missing: \(name)")
            case Data(contents): break
            default: differences.append("differs: \(name)")
            }
        }
        return try differences + strangers(files, directory).map { "nobody's: \($0)" }
    }

    /// Files among the vectors that no vector makes. A folder among them has a generator of its own (`pkcs7/openssl`).
    private static func strangers(_ files: [String: [UInt8]], _ directory: URL) throws -> [String] {
        folders.flatMap { folder in
            let names =
                (try? FileManager.default.contentsOfDirectory(
                    atPath: directory.appendingPathComponent(folder).path)) ?? []
            return names.filter { $0.contains(".") }.map { folder + "/" + $0 }.filter { files[$0] == nil }.sorted()
        }
    }

    private static func write(_ files: [String: [UInt8]], _ directory: URL) throws {
        for folder in folders {
            try FileManager.default.createDirectory(
                at: directory.appendingPathComponent(folder), withIntermediateDirectories: true)
        }
        for (name, contents) in files { try Data(contents).write(to: directory.appendingPathComponent(name)) }
        for name in try strangers(files, directory) {
            try FileManager.default.removeItem(at: directory.appendingPathComponent(name))
        }
    }
}

extension Vector {
    static var all: [Vector] {
        asn1 + ber + containers + signedAttributes + algorithms + keyKinds + certificates + chains + payloads + dates
            + policies
            + receipts + requests
    }
}
