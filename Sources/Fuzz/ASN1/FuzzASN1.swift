import FuzzSupport
import SpanASN1

// Any bytes. DER that is read must be written back unchanged; the three readers (cursor, walker, gate) must agree; the
// offset of every error must be in the input.

@_cdecl("LLVMFuzzerTestOneInput")
func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    unsafe withInput(start, count) { input in
        let isDER = checkCursor(input)
        checkWalker(input, isDER: isDER)
        checkGate(input, isDER: isDER)
        checkRelaxed(input)
    }
}

#if !FUZZ
@main enum Replay {
    static func main() { unsafe replay(testOneInput) }
}
#endif

private let maximumDepth = 32

private func checkOffset(_ error: ASN1DecodingError, _ input: [UInt8], base: Int = 0) {
    check(base...base + input.count ~= error.offset, "\(error) lies outside the input")
}

// MARK: Cursor and writer

/// Whether the input is DER at every depth; `nil` if it is too deep to tell.
private func checkCursor(_ input: [UInt8]) -> Bool? {
    do throws(ASN1DecodingError) {
        var cursor = ASN1Cursor(input.span)
        var writer = ASN1Writer()
        var isWhole = true
        try rewrite(&cursor, &writer, depth: 0, &isWhole)
        if isWhole { check(writer.finish() == input, "DER is written back differently") }
        return isWhole ? true : nil
    } catch {
        checkOffset(error, input)
        return false
    }
}

/// Reads every value with the reader for its type, and writes it with the writer.
private func rewrite(
    _ cursor: inout ASN1Cursor, _ writer: inout ASN1Writer, depth: Int, _ isWhole: inout Bool
) throws(ASN1DecodingError) {
    while !cursor.isAtEnd {
        let tag = cursor.peekTag()
        let element = try cursor.read()
        check(tag == element.tag, "the tag seen ahead is another")
        if element.tag.isConstructed {
            guard depth < maximumDepth else {
                isWhole = false
                continue
            }
            var contents = element.contents
            writer.begin(element.tag)
            try rewrite(&contents, &writer, depth: depth + 1, &isWhole)
            writer.end()
            checkSet(element)
        } else {
            rewrite(element, &writer)
        }
    }
}

/// Writing the elements of a sorted SET OF in sorted order must give the same bytes.
private func checkSet(_ set: ASN1Element) {
    guard set.tag == .set else { return }
    do throws(ASN1DecodingError) {
        var cursor = ASN1Cursor(set.encoded)
        try cursor.readSet(isSorted: true) { (_) throws(ASN1DecodingError) in }
    } catch {
        return
    }
    var writer = ASN1Writer()
    writer.writeSet { $0.write(encoded: set.content) }
    check(writer.finish() == [UInt8](copying: set.encoded), "a sorted SET OF is sorted otherwise")
}

private func rewrite(_ element: ASN1Element, _ writer: inout ASN1Writer) {
    let isWritten: Bool
    do {
        isWritten = try rewriteValue(element, &writer)
    } catch {
        // The value is malformed, or its writer refuses the string.
        isWritten = false
        if let error = error as? ASN1DecodingError {
            check(element.range.contains(error.offset), "\(error) lies outside its element")
        } else {
            check(false, "\(error) for a value that was read")
        }
    }
    if !isWritten { writer.write(element.tag, content: element.content) }
}

/// - Returns: `false` when the type has no writer or the value no single encoding.
private func rewriteValue(_ element: ASN1Element, _ writer: inout ASN1Writer) throws -> Bool {
    switch element.tag {
    case .boolean: writer.writeBoolean(try element.boolean())
    case .integer:
        let bytes = try element.integerBytes()
        switch bytes.count {
        case 1...8: writer.writeInteger(try element.integer(as: Int64.self))
        case 9...16: writer.writeInteger(try element.integer(as: Int128.self))
        default:
            if bytes[0] < 0x80 {
                writer.writeInteger(magnitude: try element.unsignedIntegerBytes())
            } else {
                writer.writeInteger(twosComplement: bytes)
            }
        }
        // An integer that is too large is an error: they must not trap.
        _ = try? element.integer(as: UInt8.self)
        _ = try? element.integer(as: UInt64.self)
    case .enumerated: writer.writeInteger(try element.enumerated(as: Int64.self), tagged: .enumerated)
    case .null:
        try element.null()
        writer.writeNull()
    case .bitString:
        let bits = try element.bitString()
        _ = bits[bit: bits.count]
        _ = bits[bit: bits.count - 1]
        try writer.writeBitString(bits.bytes, unusedBitCount: bits.unusedBitCount)
    case .octetString: writer.writeOctetString(try element.octetString())
    case .objectIdentifier:
        let identifier = try element.objectIdentifier()
        let read = ASN1ObjectIdentifier(identifier.description)
        check(read == nil || read == identifier, "\(identifier) is another OID when read as text")
        check(read != nil || element.contentCount > 100, "\(identifier) is no OID when read as text")
        writer.writeObjectIdentifier(identifier)
    case .relativeOID:
        let identifier = try element.relativeOID()
        let read = ASN1RelativeOID(identifier.description)
        check(read == nil || read == identifier, "\(identifier) is another RELATIVE-OID when read as text")
        return false
    case .utf8String: writer.writeUTF8String(try element.utf8String())
    case .printableString, .ia5String, .numericString, .visibleString, .bmpString, .universalString, .teletexString:
        _ = try element.string()
        return false
    case .utcTime: try writer.writeUTCTime(element.utcTime())
    case .generalizedTime:
        // Digits below a millisecond are dropped.
        let time = try element.generalizedTime()
        guard element.contentCount <= 19 else { return false }
        try writer.writeGeneralizedTime(time)
    default: return false
    }
    return true
}

// MARK: Walker

private func checkWalker(_ input: [UInt8], isDER: Bool?) {
    let base = 1000
    for rules in [ASN1Walker.Rules.der, .ber] {
        var walker = ASN1Walker(input.span, baseOffset: base, rules: rules)
        var writer = ASN1Writer()
        var depth = 0
        var lastOffset = base - 1
        do throws(ASN1DecodingError) {
            while let element = try walker.next() {
                check(element.offset > lastOffset, "the walker does not get on")
                check(element.contentOffset - base <= input.count, "an element outside the input")
                lastOffset = element.offset
                guard rules == .der else {
                    if element.contentCount ?? 0 > 40 { walker.enter(element, skipping: 1) }
                    continue
                }
                while depth > element.depth {
                    writer.end()
                    depth -= 1
                }
                if element.tag.isConstructed {
                    writer.begin(element.tag)
                    depth += 1
                } else if let content = element.contentRange {
                    writer.write(
                        element.tag,
                        content: input.span.extracting(content.lowerBound - base..<content.upperBound - base))
                }
            }
            if rules == .der {
                check(writer.finish() == input, "a walk is written back differently")
                check(isDER != false, "the walker accepts what the cursor refuses")
            }
        } catch {
            checkOffset(error, input, base: base)
            if rules == .der { check(isDER != true, "the walker refuses DER: \(error)") }
        }
    }
}

// MARK: Gate

private func checkGate(_ input: [UInt8], isDER: Bool?) {
    for gate in [BERGate(), BERGate(maximumDepth: 6) { _, tag, _ in tag == .set }] {
        do throws(ASN1DecodingError) {
            let normalized = try gate.normalize(input.span)
            check(
                input.count >= 1 << 16 || normalized.count <= input.count, "the gate makes more of the input")
            do throws(ASN1DecodingError) {
                check(try gate.normalize(normalized.span) == normalized, "the gate changes what it has normalised")
            } catch {
                check(false, "the gate refuses what it has normalised: \(error)")
            }
            for target in [0, 1, normalized.count / 2, normalized.count - 1, normalized.count] {
                let offset = gate.receivedOffset(ofNormalized: target, in: input.span)
                check(0...input.count ~= offset, "offset \(target) comes from outside the input")
            }
            if gate.maximumDepth == 32 {
                var walker = ASN1Walker(normalized.span)
                do throws(ASN1DecodingError) {
                    while try walker.next() != nil {}
                } catch {
                    check(false, "the gate makes what the walker refuses: \(error)")
                }
                if isDER == true {
                    check(!hasConstructedString(input) ? normalized == input : true, "the gate changes DER")
                }
            }
        } catch {
            checkOffset(error, input)
        }
    }
}

private func hasConstructedString(_ input: [UInt8]) -> Bool {
    var walker = ASN1Walker(input.span)
    while let element = try? walker.next() {
        if element.tag == .octetString.asConstructed { return true }
    }
    return false
}

// MARK: Relaxations

/// With all relaxations, nothing may crash, and DER must still be read.
private func checkRelaxed(_ input: [UInt8]) {
    var cursor = ASN1Cursor(input.span, baseOffset: 7, allowing: ASN1Relaxations(rawValue: .max))
    do throws(ASN1DecodingError) {
        while !cursor.isAtEnd { readRelaxed(try cursor.read(), depth: 0) }
    } catch {
        checkOffset(error, input, base: 7)
    }
}

private func readRelaxed(_ element: ASN1Element, depth: Int) {
    _ = element.tag.description
    if element.tag.isConstructed {
        guard depth < maximumDepth else { return }
        var contents = element.contents
        while let inner = try? contents.read() { readRelaxed(inner, depth: depth + 1) }
        return
    }
    _ = try? element.string()
    _ = try? element.time().description
    _ = try? element.integer(as: Int16.self)
    _ = try? element.integerBytes()
    _ = try? element.boolean()
    _ = try? element.bitString().count
    _ = try? element.objectIdentifier()
}
