/// A reader of HTML that knows only what a page of this project may have.
public struct MarkupReader {
    private let bytes: [UInt8]
    private let elements: [[UInt8]]
    private let fields: [[UInt8]]
    private let addresses: [[UInt8]]
    private var index: Int

    /// Checks that what follows a page's head is elements, each with an end, and text.
    ///
    /// - Parameters:
    ///   - elements: The elements that a page may have.
    ///   - fields: Those of them that have no end.
    ///   - addresses: What a link or a form may lead to besides a place in the page.
    /// - Returns: The index of the body.
    @discardableResult
    public static func checkBody(
        of page: [UInt8], elements: [String], fields: [String] = [], addresses: [String] = []
    ) -> Int {
        check(String(validating: page, as: UTF8.self) != nil, "a page that is no UTF-8")
        guard let body = page.firstRange(of: Array("<body>".utf8)) else { fail("a page without body") }
        var reader = MarkupReader(
            bytes: page, elements: (elements + fields).map { Array($0.utf8) }, fields: fields.map { Array($0.utf8) },
            addresses: addresses.map { Array($0.utf8) }, index: body.lowerBound)
        reader.readBody()
        return body.lowerBound
    }

    private mutating func readBody() {
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
        check(elements.contains(name), "an element that no page has")
        if isEnd {
            check(open.popLast() == name, "an element ends within another")
        } else if !fields.contains(name) {
            open.append(name)
        }
        while bytes[index] == UInt8(ascii: " ") {
            check(!isEnd, "the end of an element has attributes")
            index += 1
            readAttribute()
        }
        check(bytes[index] == UInt8(ascii: ">"), "a tag does not end")
        index += 1
    }

    private mutating func readAttribute() {
        let attribute = readName()
        if ["required", "selected"].contains(where: { $0.utf8.elementsEqual(attribute) }) { return }
        check(bytes[index...].starts(with: "=\"".utf8), "an attribute without a quoted value")
        let start = index + 2
        guard let end = bytes[start...].firstIndex(of: UInt8(ascii: "\"")) else { fail("an attribute without an end") }
        let value = bytes[start..<end]
        // What a form gives back is given back byte for byte.
        let mayHaveControls = attribute.elementsEqual("value".utf8)
        check(
            !value.contains { $0 == UInt8(ascii: "<") || $0 < 0x20 && !mayHaveControls }, "markup in an attribute")
        check(!attribute.starts(with: "on".utf8) && !attribute.elementsEqual("style".utf8), "an attribute that acts")
        check(!attribute.elementsEqual("src".utf8), "an attribute that loads")
        if attribute.elementsEqual("href".utf8) || attribute.elementsEqual("action".utf8) {
            check(value.first == UInt8(ascii: "#") || addresses.contains(Array(value)), "a link to elsewhere")
        }
        index = end + 1
    }

    private mutating func readName() -> [UInt8] {
        let start = index
        while UInt8(ascii: "a")...UInt8(ascii: "z") ~= bytes[index] | 0x20 || bytes[index] == UInt8(ascii: "-")
            || UInt8(ascii: "0")...UInt8(ascii: "9") ~= bytes[index]
        { index += 1 }
        return Array(bytes[start..<index])
    }
}
