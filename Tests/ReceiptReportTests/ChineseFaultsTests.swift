@_spi(Surfaces) import AppStoreReceipt
import SignatureTrust
import TestSupport
import Testing

@_spi(Surfaces) @testable import ReceiptReport

@Suite struct ChineseFaultsTests {
    private let all = VerificationError.all(SignatureTrustError.Kind.allCases.map { SignatureTrustError($0) })

    @Test func `every row of the table of faults is translated, and no translation is of a row that is gone`() {
        let rows = Set(all.map(\.explanation))
        #expect(rows.subtracting(ChineseFaults.explanations.keys).sorted() == [])
        #expect(Set(ChineseFaults.explanations.keys).subtracting(rows).sorted() == [])
        #expect(Set(ChineseFaults.advice.keys).subtracting(all.map(\.code.rawValue)).sorted() == [])
    }

    @Test func `what is wrong and what to do have words in every language, and the code is in none`() {
        for error in all {
            for language in Language.allCases {
                #expect(!error.sentence(in: language).isEmpty)
                #expect(!error.advice(for: .user(of: .command), in: language).isEmpty, "\(error.code)")
            }
        }
    }

    @Test func `an option in the advice is one of the command`() {
        let options = Set(VerifierSetting.onCommandLine(of: .command).compactMap { $0.name(on: .command) })
        for (code, advice) in ChineseFaults.advice {
            for option in advice.matches(of: /--[a-z0-9-]+/).map({ String($0.output) }) {
                #expect(options.contains(option), "\(code): \(option)")
            }
        }
    }
}
