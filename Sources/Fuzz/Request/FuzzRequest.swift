import AppStoreReceipt
import AppStoreReceiptTesting
import FuzzSupport
import StrictText

// Texts: the armor of receipts, base64 in all variants, JSON. Binary bytes are put into every armor
// and must be the same after decoding.

@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    unsafe withInput(start, count) { input in
        checkArmor(input)
        checkBase64(input)
        checkJSON(input)
        checkAnswer(input)
        checkClients(input)
        checkGenuine(input)
        checkDate(input)
        // This is the most expensive check, so it runs on some inputs only.
        if input.count % 8 == 0 {
            checkRoundTrips(input)
            checkWrappers(input)
        }
    }
}

#if !FUZZ
@main enum Replay {
    static func main() { unsafe replay(testOneInput) }
}
#endif

// MARK: Armor

private func checkArmor(_ input: [UInt8]) {
    do throws(VerificationError) {
        let binary = try received(input, 1 << 20).binary()
        check(binary.count <= input.count, "a text grows when it is decoded")
        _ = UnverifiedReceipt.isDecodable(binary)
    } catch {
        check(0...input.count ~= (error.offset ?? -1), "\(error) lies outside the input")
        _ = error.description
    }
    for maximum in [0, 16] {
        do throws(VerificationError) {
            let binary = try received(input, maximum).binary()
            check(binary.count <= maximum, "more than \(maximum) bytes are let through")
        } catch {
            check(0...input.count ~= (error.offset ?? -1), "\(error) lies outside the input")
        }
    }
}

private func received(
    _ input: [UInt8], _ maximumReceiptByteCount: Int = VerificationLimits().maximumReceiptByteCount
) -> ReceivedEvidence {
    var limits = VerificationLimits()
    limits.maximumReceiptByteCount = maximumReceiptByteCount
    return ReceivedEvidence(input, as: .receipt, limits)
}

extension UnverifiedReceipt {
    fileprivate static func isDecodable(_ binary: [UInt8]) -> Bool { (try? UnverifiedReceipt(decoding: binary)) != nil }
}

private func checkRoundTrips(_ input: [UInt8]) {
    // The shortest container, so that the armor is recognized.
    let length = UInt8(truncatingIfNeeded: input.count)
    let binary = [0x30, 0x82, UInt8(truncatingIfNeeded: input.count >> 8), length] + input
    let text = Array(Base64.encode(binary.span).utf8)
    let urlSafe = Array(Base64.encode(binary.span, urlSafe: true).utf8)
    let wrapped = text.chunked(by: 64, with: Array("\r\n".utf8))
    var json = JSONWriter()
    json.beginObject()
    json.name("password")
    json.string(String(decoding: input, as: UTF8.self))
    json.name("receipt-data")
    json.string(utf8: text.span)
    json.endObject()
    let pem = Array("-----BEGIN PKCS7-----\n".utf8) + wrapped + Array("\n-----END PKCS7-----\n".utf8)
    // A `+` at the end becomes a space, which is ambiguous.
    let formDecoded =
        text.last == UInt8(ascii: "+") ? text : text.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }
    for (armor, encoded) in [
        (Armor.binary, binary), (.base64, text), (.base64, urlSafe), (.base64, wrapped), (.pem, pem),
        (.json, json.bytes), (.base64, formDecoded),
    ] {
        do throws(VerificationError) {
            let received = received(encoded)
            check(received.armor == armor, "\(armor) is taken for \(String(describing: received.armor))")
            check(try received.binary() == binary, "\(armor) gives other bytes")
        } catch {
            check(false, "\(armor) is refused: \(error)")
        }
    }
}

extension [UInt8] {
    fileprivate func chunked(by size: Int, with separator: [UInt8]) -> [UInt8] {
        var result: [UInt8] = []
        for start in stride(from: 0, to: count, by: size) {
            if start > 0 { result += separator }
            result += self[start..<Swift.min(start + size, count)]
        }
        return result
    }
}

// MARK: Clients

private let trust = FuzzAuthority.made {
    AppStoreTrust.roots([FuzzAuthority.anchor, try JWSSigner.authority.trustAnchor])
}
private let verifier = FuzzAuthority.made { try AppStoreVerifier(policy: FuzzAuthority.policy, trust: trust) }
private let strictVerifier = FuzzAuthority.made {
    var policy = FuzzAuthority.policy
    policy.requiresStrictForm = true
    return try AppStoreVerifier(policy: policy, trust: trust)
}

/// What is found in a wrapper has the verdict that it has alone, and what is refused is not accepted for having been
/// looked at again.
private func checkClients(_ input: [UInt8]) {
    let alone = Unwrapper.evidence(in: input, VerificationLimits())
    check(Unwrapper.evidence(in: alone, VerificationLimits()) == alone, "what was sent alone has a wrapper")
    let verdict = Result { () throws(VerificationError) in try verifier.verify(input) }
    let verdictAlone = Result { () throws(VerificationError) in try verifier.verify(alone) }
    switch (verdict, verdictAlone) {
    case (.success(let left), .success(let right)):
        check(left.inside(Layers()) == right, "evidence in a wrapper is other evidence than alone")
    case (.failure(let left), .failure(let right)):
        check(alone == input || left.code == right.code, "\(left.code) in a wrapper, and \(right.code) alone")
        if left.offsetBase == .text { check(0...input.count ~= (left.offset ?? -1), "\(left) lies outside the input") }
        check(left.unwrapped.count <= 2, "more than two layers")
        _ = (left.description, left.json, left.excerpt(of: input))
    default: check(false, "evidence in a wrapper has another verdict than alone")
    }
}

/// The genuine evidence for which a byte of an input stands: a receipt, and two transactions.
private let genuine: [UInt8: (text: [UInt8], evidence: VerifiedEvidence)] = FuzzAuthority.made {
    let receipt = ReceiptBuilder(bundleID: "com.example.app", purchases: [.consumable("coins", transactionID: "1")])
    let binary = try receipt.signed(by: FuzzAuthority.authority)
    let transactions = try ["2", "3"].map { id in
        try JWSBuilder.transaction(bundleID: "com.example.app", productID: "pro", transactionID: id)
            .signed(by: JWSSigner.authority)
    }
    var genuine: [UInt8: (text: [UInt8], evidence: VerifiedEvidence)] = [:]
    for (byte, text) in zip(UInt8(1)..., [Base64.encode(binary.span)] + transactions) {
        genuine[byte] = (Array(text.utf8), try verifier.verify(text))
    }
    return genuine
}

/// Whatever is put around genuine evidence: what is accepted is exactly one of its pieces, as if it had been sent
/// alone.
private func checkGenuine(_ input: [UInt8]) {
    guard let text = withGenuineEvidence(input) else { return }
    checkClients(text)
    checkAnswer(text)
    guard let evidence = try? verifier.verify(text) else { return }
    let alone = evidence.inside(Layers())
    check(genuine.values.contains { $0.evidence == alone }, "what is accepted is not what was put in")
    let strict = try? strictVerifier.verify(text)
    check(strict == (evidence.unwrapped.isEmpty ? evidence : nil), "strict form accepts a wrapper, or no evidence")
}

/// Replaces bytes by the evidence for which they stand, and encodes the text as its first bytes say; `nil` if there is
/// no evidence in it.
private func withGenuineEvidence(_ input: [UInt8]) -> [UInt8]? {
    let encodings = input.prefix(4).prefix { 5...7 ~= $0 }
    var text: [UInt8] = []
    var pieceCount = 0
    for byte in input.dropFirst(encodings.count) {
        if pieceCount < 4, let piece = genuine[byte] {
            text += piece.text
            pieceCount += 1
        } else {
            text.append(byte)
        }
    }
    guard pieceCount > 0 else { return nil }
    for encoding in encodings.reversed() {
        switch encoding {
        case 5: text = Array(Base64.encode(text.span).utf8)
        case 6: text = percentEncoded(text)
        default:
            var json = JSONWriter()
            json.string(String(decoding: text, as: UTF8.self))
            text = json.bytes
        }
    }
    return text
}

private func percentEncoded(_ text: [UInt8]) -> [UInt8] {
    let digits = Array("0123456789ABCDEF".utf8)
    return text.flatMap { [UInt8(ascii: "%"), digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
}

/// Evidence survives every wrapper.
private func checkWrappers(_ input: [UInt8]) {
    let count = input.count + 1
    guard count < 1 << 16 else { return }
    let binary = [0x30, 0x82, UInt8(count >> 8), UInt8(count & 0xFF), 0x06] + input
    let text = Array(Base64.encode(binary.span).utf8)
    func object(_ members: String...) -> [UInt8] {
        Array("{\"id\":1,".utf8) + members.joined(separator: ",").utf8 + [UInt8(ascii: "}")]
    }
    let string = String(decoding: text, as: UTF8.self)
    let percent = percentEncoded(text)
    for wrapped in [
        Array("\"\(string)\"".utf8), percent, Array("a=b&receipt-data=".utf8) + percent,
        Array("data:,\(string)".utf8), Array(Base64.encode(text.span).utf8),
        object("\"Store\":1", "\"Payload\":\"\(string)\""), object("\"purchaseToken\":\"\(string)\""),
        object("\"unified_receipt\":{\"latest_receipt\":\"\(string)\"}"),
    ] {
        check(Unwrapper.evidence(in: wrapped, VerificationLimits()) == text, "a wrapper gives other bytes")
    }
}

// MARK: Base64

private func checkBase64(_ input: [UInt8]) {
    for syntax in [Base64.Syntax.transported, .pem, .jws, .strict] {
        do throws(Base64Error) {
            let decoded = try Base64.decode(input.span, as: syntax)
            check(decoded.count <= input.count / 4 * 3 + 3, "base64 of too many bytes")
            if syntax == .strict || syntax == .jws {
                let encoded = Base64.encode(decoded.span, urlSafe: syntax == .jws)
                check(Array(encoded.utf8) == input, "strict base64 is not the only one of its bytes")
            } else {
                check(decoded == simpleDecode(input), "base64 is read otherwise by a simple decoder")
            }
        } catch {
            check(0...input.count ~= error.offset, "\(error) lies outside the input")
            check(
                syntax != .strict || simpleDecode(input).map { Array(Base64.encode($0.span).utf8) } != input,
                "canonical base64 is refused: \(error)")
        }
    }
}

/// A simple decoder, six bits at a time. Whitespace is skipped, except for spaces between two characters, which are
/// `+`.
private func simpleDecode(_ input: [UInt8]) -> [UInt8]? {
    let isFormDecoded = hasInnerSpace(input)
    let text = isFormDecoded ? trimmed(input) : input
    var bits: UInt32 = 0
    var bitCount = 0
    var output: [UInt8] = []
    for (index, byte) in text.enumerated() {
        let value: UInt32
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = UInt32(byte) - 65
        case UInt8(ascii: "a")...UInt8(ascii: "z"): value = UInt32(byte) - 71
        case UInt8(ascii: "0")...UInt8(ascii: "9"): value = UInt32(byte) + 4
        case UInt8(ascii: "+"), UInt8(ascii: "-"): value = 62
        case UInt8(ascii: "/"), UInt8(ascii: "_"): value = 63
        case UInt8(ascii: " ") where isFormDecoded: value = 62
        case UInt8(ascii: "\\") where index + 1 < text.count && text[index + 1] == UInt8(ascii: "/"): continue
        case UInt8(ascii: "="), UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): continue
        default: return nil
        }
        bits = bits << 6 | value
        bitCount += 6
        if bitCount >= 8 {
            bitCount -= 8
            output.append(UInt8(truncatingIfNeeded: bits >> UInt32(bitCount)))
        }
    }
    return output
}

private let whitespace = Array(" \t\r\n".utf8)

private func hasInnerSpace(_ input: [UInt8]) -> Bool {
    // A run of spaces with no other whitespace beside it.
    var index = 0
    while index < input.count {
        let start = index
        while index < input.count, input[index] == UInt8(ascii: " ") { index += 1 }
        if index > start, start > 0, index < input.count, !whitespace.contains(input[start - 1]),
            !whitespace.contains(input[index])
        {
            return true
        }
        index += 1
    }
    return false
}

/// Without whitespace around it.
private func trimmed(_ input: [UInt8]) -> [UInt8] {
    let start = input.firstIndex { !whitespace.contains($0) } ?? input.endIndex
    let end = (input.lastIndex { !whitespace.contains($0) } ?? -1) + 1
    return start < end ? Array(input[start..<end]) : []
}

// MARK: JSON

private func checkJSON(_ input: [UInt8]) {
    do throws(JSONError) {
        var skipped = 0..<0
        try JSONCursor.decode(input.span) { (cursor) throws(JSONError) in skipped = try cursor.skipValue() }
        check(skipped.upperBound <= input.count, "a value outside the text")
        var writer = JSONWriter()
        try JSONCursor.decode(input.span) { (cursor) throws(JSONError) in try rewrite(&cursor, &writer) }
        // Writing it again must give the same text.
        let first = writer.bytes
        var again = JSONWriter()
        try JSONCursor.decode(first.span) { (cursor) throws(JSONError) in try rewrite(&cursor, &again) }
        check(again.bytes == first, "JSON changes when it is written again")
    } catch {
        check(0...input.count ~= error.offset, "\(error) lies outside the text")
    }
}

/// Reads a value by its type and writes it. `skipValue` has already checked the depth.
private func rewrite(_ cursor: inout JSONCursor, _ writer: inout JSONWriter) throws(JSONError) {
    switch try cursor.peekType() {
    case .object:
        writer.beginObject()
        try cursor.readObject { (cursor, name) throws(JSONError) in
            let bytes = name.bytes
            check(name.value.utf8.elementsEqual(bytes), "a name has two readings")
            if !bytes.isEmpty {
                let offset = name.offset(ofByte: bytes.count - 1)
                check(name.range.contains(offset), "a byte of a name comes from elsewhere")
            }
            writer.name(utf8: bytes.span)
            try rewrite(&cursor, &writer)
        }
        writer.endObject()
    case .array:
        writer.beginArray()
        try cursor.readArray { (cursor) throws(JSONError) in try rewrite(&cursor, &writer) }
        writer.endArray()
    case .string:
        let bytes = try cursor.readString().bytes
        writer.string(utf8: bytes.span)
    case .number:
        let number = try cursor.readNumber()
        _ = try? number.double()
        if let value = try? number.int64() { writer.integer(value) } else { writer.raw(number.raw) }
    case .boolean: writer.bool(try cursor.readBool())
    case .null:
        check(try cursor.readIfNull(), "a null is none")
        writer.null()
    }
}

// MARK: Answers

private let responder = FuzzAuthority.made {
    try VerifyReceiptResponder(policy: FuzzAuthority.policy, trust: trust)
}

/// For every body, the answer must be JSON with a known status.
private func checkAnswer(_ input: [UInt8]) {
    let answer = responder.answer(to: input)
    check([0, 21000, 21002, 21003].contains(answer.status.rawValue), "status \(answer.status)")
    do throws(JSONError) {
        try JSONCursor.decode(answer.body.span) { (cursor) throws(JSONError) in _ = try cursor.skipValue() }
    } catch {
        check(false, "\(error) in an answer")
    }
}

// MARK: Dates

private func checkDate(_ input: [UInt8]) {
    guard let date = Instant(rfc3339: input.span) else { return }
    // An offset can move the date out of the years with four digits.
    guard 0...9999 ~= date.components.year else { return }
    check(Instant(rfc3339: date.description) == date, "a date changes when it is written and read")
}
