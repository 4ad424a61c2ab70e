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
}
