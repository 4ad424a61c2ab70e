@_spi(Surfaces) import AppStoreReceipt
import AppStoreReceiptTesting
import FuzzSupport
@_spi(Surfaces) import ReceiptReport
import StrictText

// The page that explains: of evidence that is refused, and of a signed receipt whose texts are the input. No input becomes markup, and the page's size is
// bounded by the evidence's.

@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    unsafe withInput(start, count) { input in
        // A line is a piece of evidence.
        let pieces = input.split(separator: UInt8(ascii: "\n"), maxSplits: 50).map(Array.init)
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
    var reader = MarkupReader(page)
    reader.readPage()
}

/// A reader that knows only what the page may have.
private struct MarkupReader {
    private let bytes: [UInt8]
    private var index = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    mutating func readPage() {
        check(String(validating: bytes, as: UTF8.self) != nil, "a page that is no UTF-8")
        guard let body = bytes.firstRange(of: Array("<body>".utf8)) else { return check(false, "a page without body") }
        check(heads.contains { $0.elementsEqual(bytes[..<body.lowerBound]) }, "evidence changes the head")
        index = body.lowerBound
        var open: [[UInt8]] = []
        repeat {
            if bytes[index] == UInt8(ascii: "<") {
                readTag(&open)
            } else {
                check(bytes[index] >= 0x20 || bytes[index] == UInt8(ascii: "\n"), "a control character")
                check(bytes[index] != UInt8(ascii: ">"), "a bracket outside a tag")
                index += 1
            }
        } while !open.isEmpty && index < bytes.count
        check(open.isEmpty && bytes[index...].elementsEqual("</html>\n".utf8), "elements do not end where they must")
    }

    private mutating func readTag(_ open: inout [[UInt8]]) {
        index += 1
        let isEnd = bytes[index] == UInt8(ascii: "/")
        if isEnd { index += 1 }
        let name = readName()
        check(Tag.allCases.contains { $0.rawValue.utf8.elementsEqual(name) }, "an element that no page has")
        if isEnd { check(open.popLast() == name, "an element ends within another") } else { open.append(name) }
        while bytes[index] == UInt8(ascii: " ") {
            check(!isEnd, "the end of an element has attributes")
            index += 1
            let attribute = readName()
            check(bytes[index...].starts(with: "=\"".utf8), "an attribute without a quoted value")
            let start = index + 2
            guard let end = bytes[start...].firstIndex(of: UInt8(ascii: "\"")) else { return check(false, "no end") }
            let value = bytes[start..<end]
            check(!value.contains { $0 < 0x20 || $0 == UInt8(ascii: "<") }, "markup in an attribute")
            check(
                !attribute.starts(with: "on".utf8) && !attribute.elementsEqual("style".utf8), "an attribute that acts")
            check(!attribute.elementsEqual("src".utf8), "an attribute that loads")
            if attribute.elementsEqual("href".utf8) { check(value.first == UInt8(ascii: "#"), "a link to elsewhere") }
            index = end + 1
        }
        check(bytes[index] == UInt8(ascii: ">"), "a tag does not end")
        index += 1
    }

    private mutating func readName() -> [UInt8] {
        let start = index
        while UInt8(ascii: "a")...UInt8(ascii: "z") ~= bytes[index] | 0x20 || bytes[index] == UInt8(ascii: "-")
            || UInt8(ascii: "0")...UInt8(ascii: "9") ~= bytes[index]
        { index += 1 }
        return Array(bytes[start..<index])
    }
}
