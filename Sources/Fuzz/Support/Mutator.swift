#if FUZZ
import AppStoreReceipt
import AppStoreReceiptTesting
import SeededRandom
import StrictText

// libFuzzer finds these functions by name. Half of all mutations are its own, on bytes; the others follow the
// structure.

@_extern(c, "LLVMFuzzerMutate")
private func mutateBytes(_ data: UnsafeMutablePointer<UInt8>?, _ count: Int, _ maximum: Int) -> Int

@_cdecl("LLVMFuzzerCustomMutator")
func mutate(_ data: UnsafeMutablePointer<UInt8>, _ count: Int, _ maximum: Int, _ seed: CUnsignedInt) -> Int {
    var generator = SeededGenerator(seed: UInt64(seed))
    guard generator.isLucky(2) else { return unsafe mutateBytes(data, count, maximum) }
    let input = unsafe Array(UnsafeBufferPointer(start: data, count: count))
    let mutated = generator.mutated(input)
    guard mutated.count <= maximum, mutated != input else { return unsafe mutateBytes(data, count, maximum) }
    for index in mutated.indices { unsafe data[index] = mutated[index] }
    return mutated.count
}

@_cdecl("LLVMFuzzerCustomCrossOver")
func crossOver(
    _ first: UnsafePointer<UInt8>, _ firstCount: Int, _ second: UnsafePointer<UInt8>, _ secondCount: Int,
    _ output: UnsafeMutablePointer<UInt8>, _ maximum: Int, _ seed: CUnsignedInt
) -> Int {
    var generator = SeededGenerator(seed: UInt64(seed))
    let receiver = unsafe Array(UnsafeBufferPointer(start: first, count: firstCount))
    let donor = unsafe Array(UnsafeBufferPointer(start: second, count: secondCount))
    let result = generator.crossed(receiver, donor).prefix(maximum)
    for (index, byte) in result.enumerated() { unsafe output[index] = byte }
    return result.count
}

/// Random choices.
extension SeededGenerator {
    mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
    /// Returns `true` one time in `odds`.
    mutating func isLucky(_ odds: Int) -> Bool { below(odds) == 0 }

    /// Chooses an element: half of the time one of all, and otherwise on a walk from the root, since a payload of
    /// thousands would leave few edits to the certificates and signers.
    mutating func element(of editor: TLVEditor) -> Int? {
        guard !editor.elements.isEmpty else { return nil }
        guard isLucky(2) else { return below(editor.elements.count) }
        var chosen: Int?
        var parent = -1
        repeat {
            let children = editor.children(of: parent)
            guard !children.isEmpty else { break }
            parent = children[below(children.count)]
            chosen = parent
        } while !isLucky(4)
        return chosen
    }

    mutating func crossed(_ receiver: [UInt8], _ donor: [UInt8]) -> [UInt8] {
        if let jws = crossedJWS(receiver, donor) { return jws }
        var editor = TLVEditor(receiver)
        let donor = TLVEditor(donor)
        if let target = element(of: editor), let source = element(of: donor) {
            editor.replace(target, with: donor.encoded(source))
        }
        return editor.bytes
    }

    mutating func mutated(_ input: [UInt8]) -> [UInt8] {
        if let jws = mutatedJWS(input) { return jws }
        if input.first == UInt8(ascii: "{"), isLucky(2) { return mutatedJSON(input, depth: 0) }
        if let text = mutatedText(input) { return text }
        var editor = TLVEditor(input)
        for _ in 0...below(3) { edit(&editor) }
        return editor.bytes
    }

    /// Mutates inside base64: decodes the longest run of its characters, mutates it and encodes it again.
    private mutating func mutatedText(_ input: [UInt8]) -> [UInt8]? {
        guard let first = input.first, [UInt8(ascii: "M"), UInt8(ascii: "{"), UInt8(ascii: "-")].contains(first) else {
            return nil
        }
        var best = 0..<0
        var start = 0
        for index in 0...input.count {
            if index < input.count, Self.isBase64(input[index]) { continue }
            if index - start > best.count { best = start..<index }
            start = index + 1
        }
        guard best.count >= 4, let binary = try? Base64.decode(input[best].span), !isLucky(4) else { return nil }
        var editor = TLVEditor(binary)
        edit(&editor)
        var output = Array(input[..<best.lowerBound])
        let edited = editor.bytes
        Base64.append(edited.span, to: &output, urlSafe: isLucky(4))
        return output + input[best.upperBound...]
    }

    private static func isBase64(_ byte: UInt8) -> Bool {
        byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26 || Array("+/=-_\\ \r\n".utf8).contains(byte)
    }

    private mutating func edit(_ editor: inout TLVEditor) {
        guard let target = element(of: editor), let other = element(of: editor) else { return }
        let encoded = editor.encoded(target)
        let content = editor.content(target)
        let tag = editor.tag(target)
        switch below(15) {
        case 0: editor.replace(target, with: [])
        case 1: editor.replace(target, with: encoded + encoded)
        case 2: editor.replace(target, with: editor.encoded(other))
        case 3: editor.replace(target, with: editor.encoded(other) + encoded)
        case 4, 5: editor.replace(target, with: TLVEditor.element(tag, mutatedByBytes(content)))
        case 6: editor.replace(target, with: TLVEditor.element([Self.tags[below(Self.tags.count)]], content))
        case 7: editor.replace(target, with: TLVEditor.element([Self.wrappers[below(Self.wrappers.count)]], encoded))
        case 8: editor.replace(target, with: [tag[0] | 0x20, 0x80] + content + [0, 0])
        case 9: editor.replace(target, with: segments(content))
        case 10: editor.replace(target, with: TLVEditor.element(tag, Self.contents[below(Self.contents.count)]))
        case 11:
            editor.replace(
                target, with: tag + [0x82, UInt8(content.count >> 8 & 0xFF), UInt8(content.count & 0xFF)] + content)
        case 12: editor.replace(target, with: TLVEditor.element(tag, Array(content.prefix(below(content.count + 1)))))
        case 13: editor.replace(target, with: content)
        default:
            // A flipped bit anywhere, lengths included.
            var bytes = editor.bytes
            bytes[below(bytes.count)] ^= 1 << UInt8(below(8))
            editor.replaceAll(with: bytes)
        }
    }

    mutating func mutatedByBytes(_ content: [UInt8]) -> [UInt8] {
        var buffer = content + [UInt8](repeating: 0, count: 16)
        let count = unsafe buffer.withUnsafeMutableBufferPointer {
            unsafe mutateBytes($0.baseAddress, content.count, $0.count)
        }
        return Array(buffer.prefix(count))
    }

    /// Makes a constructed OCTET STRING with the same content.
    private mutating func segments(_ content: [UInt8]) -> [UInt8] {
        let size = 1 + below(max(1, content.count))
        var parts: [UInt8] = []
        for start in stride(from: 0, to: content.count, by: size) {
            parts += TLVEditor.element([0x04], Array(content[start..<min(start + size, content.count)]))
        }
        return isLucky(2) ? TLVEditor.element([0x24], parts) : [0x24, 0x80] + parts + [0, 0]
    }

    private static let tags: [UInt8] = [
        0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x0A, 0x0C, 0x0D, 0x12, 0x13, 0x14, 0x16, 0x17, 0x18, 0x1A, 0x1C, 0x1E,
        0x24, 0x30, 0x31, 0x80, 0xA0, 0xA1, 0xA2, 0xA3,
    ]
    private static let wrappers: [UInt8] = [0x04, 0x24, 0x30, 0x31, 0xA0, 0xA1, 0xA3]
    private static let contents: [[UInt8]] = [
        [], [0], [1], [0xFF], [0x7F], [0x80], [0, 0x80], [0, 0], [0xFF, 0xFF], [0x06, 0xA5], [0x06, 0xAC], [17], [12],
        [0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0x80, 0, 0, 0, 0, 0, 0, 0],
        [0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
        Array("2025-06-15T12:00:00Z".utf8), Array("2013-08-01T07:00:00.123+0300".utf8), Array("250615120000Z".utf8),
        Array("20250615120000.5Z".utf8), Array("Production".utf8), Array("Xcode".utf8),
        [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x01], [0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x07, 0x02],
    ]
}
#endif
