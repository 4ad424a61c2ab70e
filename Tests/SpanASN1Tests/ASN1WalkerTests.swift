import AppStoreReceiptTesting
import SpanASN1
import TestSupport
import Testing

@Suite struct ASN1WalkerTests {
    private func walk(
        _ bytes: [UInt8], _ rules: ASN1Walker.Rules = .der, _ limits: ASN1Limits = ASN1Limits()
    ) -> (elements: [ASN1Walker.Element], error: ASN1DecodingError?) {
        var walker = ASN1Walker(bytes.span, baseOffset: 100, rules: rules, limits: limits)
        var elements: [ASN1Walker.Element] = []
        do {
            while let element = try walker.next() { elements.append(element) }
            return (elements, nil)
        } catch {
            return (elements, error)
        }
    }

    private func describe(_ elements: [ASN1Walker.Element]) -> [String] {
        elements.map {
            "\($0.depth) \($0.tag) \($0.offset - 100)+\($0.headerCount) \($0.contentCount.map(String.init) ?? "inf")"
        }
    }

    @Test func `DER is visited depth first, with depth, tag and place`() {
        let (elements, error) = walk(hex("30 0A A0 03 02 01 05 31 00 04 01 30 BF 1F 02 05 00"))
        #expect(error == nil)
        #expect(
            describe(elements) == [
                "0 SEQUENCE 0+2 10", "1 [0] 2+2 3", "2 INTEGER 4+2 1", "1 SET 7+2 0", "1 OCTET STRING 9+2 1",
                "0 [31] 12+3 2",
                "1 NULL 15+2 0",
            ])
    }

    @Test func `indefinite lengths end at their end-of-contents`() {
        let (elements, error) = walk(hex("30 80 24 80 04 81 01 41 00 00 30 03 02 01 05 00 00 05 00"), .ber)
        #expect(error == nil)
        #expect(
            describe(elements) == [
                "0 SEQUENCE 0+2 inf", "1 OCTET STRING 2+2 inf", "2 OCTET STRING 4+3 1", "2 END OF CONTENTS 8+2 0",
                "1 SEQUENCE 10+2 3",
                "2 INTEGER 12+2 1", "1 END OF CONTENTS 15+2 0", "0 NULL 17+2 0",
            ])
    }

    @Test(arguments: [
        ("", ASN1Walker.Rules.der, nil as Kind?, 0), ("30 80 00 00", .der, .indefiniteLength, 0),
        ("04 80 00 00", .ber, .indefiniteLength, 0),
        ("30 80", .ber, .truncated, 0), ("30 80 30 80 00 00", .ber, .truncated, 0),
        ("30 02 30 80 00 00", .ber, .truncated, 2),
        ("30 04 30 80 00 00", .ber, nil, 0), ("00 00", .ber, .unexpectedEndOfContents, 0),
        ("30 02 00 00", .ber, .unexpectedEndOfContents, 2),
        ("30 80 00 01 00", .ber, .invalidLength, 2), ("30 80 00 81 00", .ber, .invalidLength, 2),
        ("30 80 00", .ber, .truncated, 3),
        ("04 81 01 41", .der, .nonMinimalLength, 1), ("04 81 01 41", .ber, nil, 0),
        ("30 03 02 02 01", .ber, .truncated, 2),
        ("30 80 20 00 00 00", .ber, nil, 0), ("30", .der, .truncated, 1), ("1F", .der, .truncated, 0),
        ("30 FF", .ber, .invalidLength, 1),
    ])
    func `malformed structure is refused where it is`(row: (String, ASN1Walker.Rules, Kind?, Int)) {
        #expect(walk(hex(row.0), row.1).error == row.2.map { ASN1DecodingError($0, offset: 100 + row.3) })
    }

    @Test func `depth, elements and bytes have limits`() {
        let nested = hex("30 06 30 04 30 02 05 00")
        #expect(walk(nested, .der, ASN1Limits(maximumDepth: 4)).error == nil)
        #expect(
            walk(nested, .der, ASN1Limits(maximumDepth: 3)).error == ASN1DecodingError(.nestingTooDeep, offset: 106))
        #expect(walk(nested, .der, ASN1Limits(maximumElementCount: 4)).error == nil)
        #expect(
            walk(nested, .der, ASN1Limits(maximumElementCount: 3)).error
                == ASN1DecodingError(.tooManyElements, offset: 106))
        #expect(walk(nested, .der, ASN1Limits(maximumByteCount: 8)).error == nil)
        #expect(
            walk(nested, .der, ASN1Limits(maximumByteCount: 7)).error == ASN1DecodingError(.inputTooLarge, offset: 107))
        #expect(walk(nested, .der, ASN1Limits(maximumByteCount: 7)).elements.isEmpty)
        let bomb = [UInt8](repeating: 0, count: 1 << 20).indices.map { $0 % 2 == 0 ? 0x30 : 0x80 } as [UInt8]
        #expect(walk(bomb, .ber).error == ASN1DecodingError(.nestingTooDeep, offset: 228))
        // Without a limit on depth it ends at the end, in linear time.
        #expect(walk(bomb, .ber, ASN1Limits(maximumDepth: .max)).error?.kind == .truncated)
    }

    @Test func `the content of a string can be entered`() throws {
        let bytes = hex("30 0F 04 04 30 02 05 00 03 03 00 05 00 31 02 05 00 02 01 05")
        var walker = ASN1Walker(bytes.span)
        var seen: [String] = []
        while let element = try walker.next() {
            var answers: [Bool] = []
            switch element.tag {
            case .octetString:
                answers.append(walker.enter(element, skipping: 5))
                answers.append(walker.enter(element))
            case .bitString: answers.append(walker.enter(element, skipping: 1))
            case .set: answers.append(walker.enter(element))
            default: break
            }
            seen.append("\(element.depth) \(element.tag)" + answers.map { $0 ? " yes" : " no" }.joined())
        }
        #expect(
            seen == [
                "0 SEQUENCE", "1 OCTET STRING no yes", "2 SEQUENCE", "3 NULL", "1 BIT STRING yes", "2 NULL",
                "1 SET no", "2 NULL", "0 INTEGER",
            ])
    }

    @Test func `an entered string still bounds what is in it`() throws {
        let bytes = hex("04 02 02 05 05 00")
        var walker = ASN1Walker(bytes.span)
        guard let string = try walker.next() else { return }
        let isEntered = walker.enter(string)
        #expect(isEntered)
        do {
            _ = try walker.next()
            Issue.record("read past the string")
        } catch {
            #expect(error == ASN1DecodingError(.truncated, offset: 2))
        }
    }

    @Test func `random bytes end in elements within bounds or in an error`() {
        var generator = SeededGenerator()
        let likely: [UInt8] = [0x30, 0x80, 0x00, 0x24, 0x04, 0x81, 0x82, 0x01, 0x02, 0x05, 0x1F, 0xBF, 0xFF, 0x84]
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
                Int.random(in: 0..<4, using: &generator) > 0
                    ? likely[Int.random(in: 0..<likely.count, using: &generator)]
                    : UInt8.random(in: 0...255, using: &generator)
            }
            for rules in [ASN1Walker.Rules.der, .ber] {
                let (elements, error) = walk(bytes, rules)
                var next = 100
                for element in elements {
                    #expect(element.offset >= next, "elements do not overlap")
                    #expect(element.contentOffset + (element.contentCount ?? 0) <= 100 + bytes.count)
                    next =
                        element.tag.isConstructed
                        ? element.contentOffset : element.contentOffset + (element.contentCount ?? 0)
                }
                if let error {
                    #expect(100...100 + bytes.count ~= error.offset)
                } else {
                    #expect(next == 100 + bytes.count)
                }
            }
        }
    }
}
