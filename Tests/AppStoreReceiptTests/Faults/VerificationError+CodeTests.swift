import Foundation
import SignatureTrust
import TestSupport
import Testing

@testable @_spi(Surfaces) import AppStoreReceipt

struct VerificationErrorCodeTests {
    /// The constants, by their names, as the source has them.
    private static func constants() throws -> [(name: String, code: String)] {
        let source = try Project.text("Sources/AppStoreReceipt/Faults/VerificationError+Code.swift")
        return source.matches(of: /static let (\w+) = Self\(rawValue: "([^"]+)"\)/).map {
            (String($0.1), String($0.2))
        }
    }

    @Test func `every code has a constant, and every constant is a code`() throws {
        let codes = Set(Fault.all.map(\.code))
        #expect(Set(try Self.constants().map(\.code)) == codes)
    }

    @Test func `the name of a constant is its code`() throws {
        let constants = try Self.constants()
        for (name, code) in constants {
            #expect(name.lowercased() == code.replacingOccurrences(of: "-", with: ""), "\(name)")
        }
        #expect(Set(constants.map(\.name)).count == constants.count)
    }

    @Test func `codes are equal if their words are, are printed as words, and are encoded as words`() throws {
        let code = VerificationError.Code.bundleIDMismatch
        #expect(code == VerificationError.Code(rawValue: "bundle-id-mismatch") && code != .environmentMismatch)
        #expect("\(code)" == "bundle-id-mismatch")
        let json = try JSONEncoder().encode([code])
        #expect(String(decoding: json, as: UTF8.self) == #"["bundle-id-mismatch"]"#)
        #expect(try JSONDecoder().decode([VerificationError.Code].self, from: json) == [code])
        // Canonically equivalent texts are two codes.
        #expect(VerificationError.Code(rawValue: "\u{e9}") != VerificationError.Code(rawValue: "e\u{301}"))
    }
}
