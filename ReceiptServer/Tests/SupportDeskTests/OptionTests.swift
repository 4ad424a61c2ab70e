import Foundation
@testable import HTTPService
@_spi(Surfaces) import ReceiptReport
@testable import SupportDesk
import Testing
import TrialSupport

@Suite struct OptionTests {
    @Test(arguments: [
        (["--support", "8081"], "127.0.0.1:8081", false), (["--support", "[::1]:8081"], "[::1]:8081", false),
        (["--support", "0.0.0.0:8081"], "0.0.0.0:8081", true),
        (["--support", "0.0.0.0:8081", "--support-origin", "https://desk.example.com"], "0.0.0.0:8081", false),
        (["--support", "0.0.0.0:8081", "--support-origin", "http://desk.example.com"], "0.0.0.0:8081", true),
    ])
    func `the desk is on this machine unless said, and clear text on a network is known as such`(
        options: [String], address: String, isExposed: Bool
    ) throws {
        let read = try #require(try configuration(options + ["--ledger", "x"]))
        #expect(read.address.description == address && read.isExposed == isExposed)
    }

    @Test(arguments: [
        (["--support", "8081"], "--support needs --ledger"),
        (["--support-origin", "https://a", "--ledger", "x"], "--support-origin needs --support"),
        (["--support", "host", "--ledger", "x"], "--support must be a host and a port"),
        (["--support", "1", "--support-origin", "desk.example.com", "--ledger", "x"], "must be a scheme and a host"),
        (["--support", "1", "--support-origin", "https://Desk.example.com", "--ledger", "x"], "must be a scheme"),
        (["--support", "1", "--support-origin", "https://desk.example.com/", "--ledger", "x"], "must be a scheme"),
    ])
    func `a configuration that cannot work is refused in words`(options: [String], message: String) {
        let error = #expect(throws: ConfigurationError.self) { try configuration(options) }
        #expect(error?.description.contains(message) == true, "\(error?.description ?? "")")
    }

    private func configuration(_ options: [String]) throws -> SupportConfiguration? {
        let table = OptionTable(SupportConfiguration.options + [.init("--ledger", "FILE", "")])
        return try SupportConfiguration(table.read(options, environment: { _ in nil }))
    }

    @Test func `a text of the desk has words in every language, with the same places for values`() {
        for phrase in DeskFixture.words {
            let places = Language.allCases.map { language in
                let text = "\(phrase.text(in: language))"
                #expect(!text.isEmpty)
                return (0...9).filter { text.contains("{\($0)}") }
            }
            #expect(Set(places).count == 1, "\(phrase): \(places)")
        }
    }

    @Test func `the style has no address and no rule of another page`() {
        #expect(SupportStyle.sheet.source.hasPrefix("'sha256-"))
    }
}
