@_spi(Surfaces) import AppStoreReceipt
import AppStoreReceiptTesting
import FuzzSupport
@_spi(Surfaces) import ReceiptReport
import StrictText

// The page that explains: of evidence that is refused, and of a signed receipt whose texts are the input. No input
// becomes markup, and the page's size is bounded by the evidence's.

@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    unsafe withInput(start, count) { input in
        // A line is a piece of evidence.
        let pieces = input.split(separator: UInt8(ascii: "\n"), maxSplits: 7).map(Array.init)
        checkPage(pieces.isEmpty ? [input] : pieces, language: input.count % 2 == 0 ? .english : .simplifiedChinese)
        let text = String(decoding: input, as: UTF8.self)
        if let signed = receipt(saying: text) { checkPage([signed], language: .english) }
    }
}

#if !FUZZ
@main enum Replay {
    static func main() { unsafe replay(testOneInput) }
}
#endif

private let verifier = FuzzAuthority.verifier()

/// A receipt with `text` wherever one may stand; `nil` if it cannot be written into one.
private func receipt(saying text: String) -> [UInt8]? {
    var purchase = ReceiptBuilder.Purchase.consumable(text, transactionID: text)
    purchase.originalTransactionID = text
    var builder = ReceiptBuilder(bundleID: text, purchases: [purchase])
    (builder.applicationVersion, builder.originalApplicationVersion) = (text, text)
    return try? builder.signed(by: FuzzAuthority.authority)
}

/// What stands before the body, in each language.
private let heads = Language.allCases.map { language in
    let page = page([], language)
    return Array(page[..<(page.firstRange(of: Array("<body>".utf8))?.lowerBound ?? 0)])
}

private func page(_ evidence: [[UInt8]], _ language: Language) -> [UInt8] {
    let decision = verifier.decision(on: evidence, at: ReceiptBuilder.defaultCreationDate)
    var report = Report(decision, on: evidence, by: verifier, for: .user(of: .command))
    report.language = language
    return report.html
}

private func checkPage(_ evidence: [[UInt8]], language: Language) {
    let page = page(evidence, language)
    check(page.count <= 2_000_000 + 40 * evidence.reduce(0) { $0 + $1.count }, "a page of \(page.count) bytes")
    let body = MarkupReader.checkBody(of: page, elements: elements)
    check(heads.contains { $0.elementsEqual(page[..<body]) }, "evidence changes the head")
}

private let elements = Tag.allCases.map(\.rawValue)
