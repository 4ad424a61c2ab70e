import Testing

@_spi(Surfaces) @testable import ReceiptReport

@Suite struct PhraseTests {
    @Test func `a phrase has words in every language, with the same places for values`() {
        for phrase in Phrase.allCases {
            let places = Language.allCases.map { language in
                phrase.pieces(in: language).compactMap { if case .slot(let index) = $0 { index } else { nil } }.sorted()
            }
            #expect(Set(places).count == 1, "\(phrase): \(places)")
            for language in Language.allCases {
                #expect(!"\(phrase.text(in: language))".isEmpty, "\(phrase)")
            }
        }
    }

    @Test func `Chinese texts have one word for one thing`() {
        let wrong = ["账户", "帐户", "帐号", "顾客", "续期", "运营者", "项目", "价款", "部分变更", "回答", "正式服务", "所固定"]
        let texts =
            Phrase.allCases.map { "\($0.text(in: .simplifiedChinese))" } + ChineseFaults.advice.values
            + ChineseFaults.explanations.values
        for text in texts { #expect(!wrong.contains { text.contains($0) }, "\(text)") }
    }
}
