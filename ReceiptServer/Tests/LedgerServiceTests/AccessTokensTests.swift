import Foundation
import HTTPService
@testable import LedgerService
import Testing
import TrialSupport

@Suite struct AccessTokensTests {
    private static let token = "token-of-the-backend-1234"

    private func tokens(_ text: String) throws -> AccessTokens {
        let file = FileManager.default.temporaryDirectory.appending(path: "tokens-\(UUID().uuidString)")
        try text.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        return try AccessTokens(file: file.path(percentEncoded: false))
    }

    @Test(arguments: ["Digest", "Basic ", "BEARES", "@EARER", "Negotiate", "Bearer\t"])
    func `no other scheme leads to a token`(scheme: String) throws {
        let tokens = try tokens(Self.token)
        #expect(try tokens.refusal(of: "Bearer \(Self.token)", scope: .redeem) == nil)
        #expect(try tokens.refusal(of: "\(scheme) \(Self.token)", scope: .redeem)?.status == 401)
    }

    @Test(arguments: [
        ("\(token)\n\(token)\n", "line 2: the token is there twice"),
        ("\(token) read\nanother-token-1234567\n\(token) delete\n", "line 3: the token is there twice"),
        ("123456789012345\n", "line 1: a token must have at least 16 bytes"),
    ])
    func `a server does not start with a faulty file of tokens`(text: String, message: String) throws {
        let error = #expect(throws: ConfigurationError.self) { try tokens(text) }
        #expect(error?.description.contains(message) == true)
        #expect(try tokens("1234567890123456\n").refusal(of: "Bearer 1234567890123456", scope: .read) == nil)
    }
}
