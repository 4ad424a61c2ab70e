import Foundation

// The texts in which receipts travel. Offsets count the text's bytes.
extension Vector {
    static let requests: [Vector] = base64s + pems + jsons

    private static func text(
        _ file: String, _ why: String, _ convert: @escaping @Sendable ([UInt8]) -> String
    ) -> Vector {
        accepted("requests/\(file)", nil, why, .text(convert))
    }

    private static func fault(
        _ file: String, _ code: String, _ place: Place, _ why: String,
        base: @escaping @Sendable ([UInt8]) -> String = base64,
        _ change: @escaping @Sendable (inout [UInt8]) throws -> Void
    ) -> Vector {
        refused(
            "requests/\(file)", "24", .input, code, place, why, base: [.text(base)], .textBytes(change))
    }

    private static func wrapped(_ bytes: [UInt8], every count: Int, with end: String) -> String {
        let characters = Array(base64(bytes))
        return stride(from: 0, to: characters.count, by: count)
            .map { String(characters[$0..<min($0 + count, characters.count)]) }.joined(separator: end)
    }

    private static func pem(_ bytes: [UInt8], _ label: String = "PKCS7", _ lineEnd: String = "\n") -> String {
        "-----BEGIN \(label)-----\(lineEnd)\(wrapped(bytes, every: 64, with: lineEnd))\(lineEnd)-----END \(label)-----\(lineEnd)"
    }

    private static func json(_ bytes: [UInt8]) -> String { "{\"receipt-data\":\"\(base64(bytes))\"}" }

    private static let base64s: [Vector] = [
        text("base64.txt", "The base64 that an app sends.", base64),
        text("base64-newline-at-the-end.txt", "A newline at the end.") { base64($0) + "\n" },
        text("base64-space-around.txt", "Space before and after.") { "\r\n  " + base64($0) + " \t\r\n" },
        text("base64-lines-of-64.txt", "Lines of 64 characters with LF.") { wrapped($0, every: 64, with: "\n") },
        text("base64-lines-of-76-crlf.txt", "Lines of 76 characters with CR LF, as Foundation makes them.") {
            wrapped($0, every: 76, with: "\r\n")
        },
        text("base64-url-safe.txt", "The URL-safe alphabet.") {
            base64($0).replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
        },
        text("base64-url-safe-without-padding.txt", "The URL-safe alphabet without padding.") {
            base64($0).replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
                .replacingOccurrences(of: "=", with: "")
        },
        text("base64-form-decoded.txt", "Form decoding has made every + a space.") {
            base64($0).replacingOccurrences(of: "+", with: " ")
        },
        text("base64-escaped-slashes.txt", "JSON's \\/ left in place.") {
            base64($0).replacingOccurrences(of: "/", with: "\\/")
        },
        text("base64-byte-order-mark.txt", "A byte order mark in front.") { "\u{FEFF}" + base64($0) },
        fault("base64-foreign-character.txt", "invalid-base64", .byte(100), "A character of no alphabet.") {
            $0[100] = UInt8(ascii: "*")
        },
        fault("base64-nul.txt", "invalid-base64", .byte(100), "A NUL in the middle.") { $0[100] = 0 },
        fault("base64-not-ascii.txt", "invalid-base64", .byte(100), "A letter beyond ASCII.") {
            $0.replaceSubrange(100..<101, with: Array("é".utf8))
        },
        fault(
            "base64-both-alphabets.txt", "invalid-base64",
            .found { $0[101...].firstIndex { $0 == UInt8(ascii: "+") || $0 == UInt8(ascii: "/") } },
            "+ or / in one text with -."
        ) {
            $0[100] = UInt8(ascii: "-")
        },
        fault("base64-one-character-left.txt", "truncated", .fromEnd(0), "Six bits are no byte.") {
            $0.removeLast(($0.count - 1) % 4)
        },
        fault("base64-padding-in-the-middle.txt", "invalid-base64", .byte(104), "Padding, and then more.") {
            $0.replaceSubrange(100..<104, with: Array("MA==".utf8))
        },
        fault("base64-too-much-padding.txt", "invalid-base64", .fromEnd(2), "More padding than there is room for.") {
            $0 += Array("==".utf8)
        },
        fault(
            "base64-nonzero-trailing-bits.txt", "invalid-base64", .fromEnd(1),
            "Bits that belong to no byte: two texts for one receipt."
        ) {
            while $0.last == UInt8(ascii: "=") { $0.removeLast() }
            $0[$0.count - 1] &+= 1
        },
        fault("base64-whitespace-only.txt", "empty-input", .byte(3), "Nothing but whitespace.") {
            $0 = [0x20, 0x0A, 0x0A]
        },
        fault("text-of-another-kind.txt", "unrecognized-form", .byte(0), "Neither of the forms.") {
            $0 = Array("<plist version=\"1.0\">".utf8)
        },
    ]

    private static let pems: [Vector] = [
        text("pem-pkcs7.pem", "PEM with the label PKCS7.") { pem($0) },
        text("pem-cms.pem", "PEM with the label CMS.") { pem($0, "CMS") },
        text("pem-crlf.pem", "PEM with CR LF.") { pem($0, "PKCS7", "\r\n") },
        fault("pem-of-a-certificate.pem", "invalid-pem", .byte(11), "Another label.", base: { pem($0) }) { bytes in
            bytes = Array(
                String(decoding: bytes, as: UTF8.self).replacingOccurrences(of: "PKCS7", with: "CERTIFICATE").utf8)
        },
        fault("pem-labels-differ.pem", "invalid-pem", .fromEnd(9), "Begun as PKCS7, ended as CMS.", base: { pem($0) }) {
            bytes in
            bytes = Array(
                String(decoding: bytes, as: UTF8.self).replacingOccurrences(of: "END PKCS7", with: "END CMS").utf8)
        },
        fault("pem-without-end.pem", "invalid-pem", .fromEnd(0), "The last line is missing.", base: { pem($0) }) {
            $0.removeLast(20)
        },
        fault(
            "pem-two-blocks.pem", "invalid-pem", .found { $0.count / 2 }, "Two receipts in one file.", base: { pem($0) }
        ) { $0 += $0 },
        fault("pem-text-in-front.pem", "unrecognized-form", .byte(0), "A line of text in front.", base: { pem($0) }) {
            $0 = Array("Receipt\n".utf8) + $0
        },
        fault("pem-empty.pem", "empty-input", .byte(22), "Nothing between the lines.", base: { pem($0) }) {
            $0 = Array("-----BEGIN PKCS7-----\n-----END PKCS7-----\n".utf8)
        },
        fault("pem-url-safe.pem", "invalid-pem", .byte(100), "PEM has the standard alphabet.", base: { pem($0) }) {
            $0[100] = UInt8(ascii: "-")
        },
    ]

    private static let jsons: [Vector] = [
        text("json.json", "The body of a verifyReceipt request.", json),
        text("json-with-other-members.json", "Password and the rest are passed over.") {
            """
            {
              "password": "0123456789abcdef", "exclude-old-transactions": true,
              "receipt-data": "\(base64($0))", "extra": {"a": [1, -2.5e3, null, {"receipt-data": 1}]}
            }

            """
        },
        text("json-escaped-slashes.json", "\\/ for /.") { json($0).replacingOccurrences(of: "/", with: "\\/") },
        text("json-unicode-escapes.json", "\\u002B for +.") {
            json($0).replacingOccurrences(of: "+", with: "\\u002B")
        },
        text("json-with-newlines-in-the-text.json", "\\r\\n in the string.") {
            "{\"receipt-data\":\"\(wrapped($0, every: 76, with: "\\r\\n"))\"}"
        },
        text("json-name-with-escapes.json", "The member's name in escapes.") {
            json($0).replacingOccurrences(of: "receipt-data", with: "receipt\\u002ddata")
        },
        fault("json-without-receipt-data.json", "missing-receipt-data", .byte(0), "Another member.", base: json) {
            $0 = Array("{\"receipt\":\"MA==\"}".utf8)
        },
        fault("json-receipt-data-twice.json", "invalid-json", .byte(23), "First or last?", base: json) { bytes in
            bytes = Array("{\"receipt-data\":\"MA==\",".utf8) + bytes.dropFirst()
        },
        fault("json-receipt-data-null.json", "invalid-json", .byte(16), "Not a string.", base: json) {
            $0 = Array("{\"receipt-data\":null}".utf8)
        },
        fault("json-receipt-data-empty.json", "empty-input", .byte(16), "An empty string.", base: json) {
            $0 = Array("{\"receipt-data\":\"\"}".utf8)
        },
        fault("json-truncated.json", "invalid-json", .fromEnd(0), "The end is missing.", base: json) {
            $0.removeLast()
        },
        fault("json-trailing-text.json", "invalid-json", .fromEnd(2), "Something after the object.", base: json) {
            $0 += Array("{}".utf8)
        },
        fault("json-trailing-comma.json", "invalid-json", .fromEnd(1), "A comma before the end.", base: json) {
            $0.insert(UInt8(ascii: ","), at: $0.count - 1)
        },
        fault("json-nested-200-deep.json", "invalid-json", .byte(69), "Arrays in arrays, two hundred deep.", base: json)
        { bytes in
            let deep = String(repeating: "[", count: 200) + String(repeating: "]", count: 200)
            bytes = Array("{\"a\":\(deep),".utf8) + bytes.dropFirst()
        },
        fault("json-invalid-escape.json", "invalid-json", .byte(2), "\\x is no escape.", base: json) { bytes in
            bytes = Array("{\"\\x\":1,".utf8) + bytes.dropFirst()
        },
        fault(
            "json-base64-foreign-character.json", "invalid-base64", .byte(100), "Not base64 in the string.", base: json
        ) {
            $0[100] = UInt8(ascii: "*")
        },
    ]
}
