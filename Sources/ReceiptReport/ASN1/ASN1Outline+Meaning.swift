package import AppStoreReceipt
package import SpanASN1

extension ASN1Outline {
    /// What is known about the elements of a level from the element that contains them.
    package enum Role {
        case none
        /// The content of an OCTET STRING or of the whole input, which may be a receipt's payload.
        case wrapped
        /// The attributes of a receipt, or of one purchase.
        case attributes(ofPurchase: Bool)
        /// The fields of an attribute.
        case attribute(AttributeType, ofPurchase: Bool)
        /// The content of an OCTET STRING that is never a structure, even if it looks like one.
        case opaque
        /// The content of the OCTET STRING in attribute 17.
        case purchase
        /// The segments of a string that begins at an offset and, if it has a length, ends at another.
        case segments(start: Int, end: Int?)
    }

    package static func isOneElement(_ bytes: Span<UInt8>, _ depth: Int) -> Bool {
        var walker = ASN1Walker(bytes, rules: .ber, limits: limits(depth: depth))
        do throws(ASN1DecodingError) {
            guard let first = try walker.next(), first.tag.isUniversal, 1...30 ~= first.tag.number else { return false }
            if !first.tag.isConstructed {
                // Random octets are seldom a valid value.
                var cursor = ASN1Cursor(bytes, allowing: .nonMinimalLengths)
                let element = try cursor.read()
                return cursor.isAtEnd && ASN1ValueText.isValid(element)
            }
            guard first.tag == .sequence || first.tag == .set || first.tag.asPrimitive == .octetString else {
                return false
            }
            while let next = try walker.next() {
                if next.depth == 0, next.tag != .endOfContents { return false }
            }
            return true
        } catch {
            return false
        }
    }
}

extension ASN1Outline.Node {
    package init(_ element: ASN1Walker.Element, below depth: Int) {
        self.init(
            depth: element.depth + depth, tag: element.tag, offset: element.offset,
            contentOffset: element.contentOffset, contentCount: element.contentCount, content: element.contentRange)
    }

    /// Returns the element at `offset` that the end of the input cuts off.
    init?(cutOffAt offset: Int, in bytes: Span<UInt8>, depth: Int) {
        let rest = bytes.extracting(offset...)
        guard let tag = ASN1Cursor(rest).peekTag() else { return nil }
        var index = 1
        if tag.number >= 31 {
            while rest[index] >= 0x80 { index += 1 }
            index += 1
        }
        guard index < rest.count else { return nil }
        var count = Int(rest[index])
        index += 1
        if count >= 0x80 {
            let octetCount = count & 0x7F
            guard 1...7 ~= octetCount, octetCount <= rest.count - index else { return nil }
            count = 0
            for _ in 0..<octetCount {
                count = count << 8 | Int(rest[index])
                index += 1
            }
        }
        guard count > rest.count - index else { return nil }
        self.init(
            depth: depth, tag: tag, offset: offset, contentOffset: offset + index, contentCount: count,
            content: offset + index..<bytes.count)
    }

    /// The number of octets in a string before the structure that it contains: 1 for the number of unused bits.
    package var wrapperCount: Int { tag == .bitString ? 1 : 0 }
}

extension ASN1Outline.State {
    /// Continues with an element, and returns the text to print beside it.
    package mutating func descend(to node: ASN1Outline.Node, _ bytes: Span<UInt8>) -> String? {
        if node.tag == .endOfContents {
            levels.removeSubrange(node.depth...)
            return nil
        }
        levels.removeSubrange((node.depth + 1)...)
        let (note, role) = meaning(of: node, in: levels[node.depth].role, bytes)
        let isCutOff = node.content.map { $0.count < node.contentCount ?? 0 } ?? true
        levels.append(ASN1Outline.Level(role: role, end: isCutOff ? nil : node.content?.upperBound))
        return note
    }

    /// Returns the element at `offset` if it extends beyond the end of the input, and not only beyond the end of its
    /// container.
    package mutating func nodeCutOff(at offset: Int, _ bytes: Span<UInt8>) -> ASN1Outline.Node? {
        while levels.count > 1, let end = levels[levels.count - 1].end, end <= offset { levels.removeLast() }
        guard levels.allSatisfy({ $0.end == nil }) else { return nil }
        return ASN1Outline.Node(cutOffAt: offset, in: bytes, depth: levels.count - 1)
    }

    private mutating func meaning(
        of node: ASN1Outline.Node, in role: ASN1Outline.Role, _ bytes: Span<UInt8>
    ) -> (note: String?, role: ASN1Outline.Role) {
        switch role {
        case .wrapped where node.tag == .set:
            guard let content = node.content, Self.attributeType(in: bytes.extracting(content)) != nil else {
                return (nil, .none)
            }
            return ("receipt attributes", .attributes(ofPurchase: false))
        case .purchase where node.tag == .set:
            purchaseCount += 1
            return ("in_app[\(purchaseCount - 1)]", .attributes(ofPurchase: true))
        case .attributes(let ofPurchase):
            guard node.tag == .sequence, let content = node.content,
                let type = Self.attributeType(fields: bytes.extracting(content))
            else { return (nil, .none) }
            // A purchase's attribute numbers have no meaning in the receipt itself, nor the receipt's in a purchase.
            let name = ofPurchase == (type.rawValue > 1700) ? type.name : nil
            return (
                "attribute \(type.rawValue)" + (name.map { " " + $0 } ?? ""),
                .attribute(type, ofPurchase: ofPurchase)
            )
        case .attribute(let type, let ofPurchase) where node.tag == .octetString:
            if ofPurchase { return (nil, .none) }
            return (nil, type == .inAppPurchase ? .purchase : 4...7 ~= type.rawValue ? .opaque : .none)
        case .segments(let start, let end) where node.tag == .octetString:
            // A single segment is the whole string.
            guard let segmentEnd = node.content?.upperBound, node.offset == start else { return (nil, .opaque) }
            let isLast =
                end.map { $0 == segmentEnd }
                ?? (segmentEnd + 1 < bytes.count && bytes[segmentEnd] == 0 && bytes[segmentEnd + 1] == 0)
            return (nil, isLast ? .wrapped : .opaque)
        default:
            guard node.isString else { return (nil, .none) }
            guard node.tag.isConstructed else { return (nil, .wrapped) }
            return (nil, .segments(start: node.contentOffset, end: node.content?.upperBound))
        }
    }

    /// Returns the type of the first attribute in a SET of attributes; `nil` if the SET contains anything else.
    private static func attributeType(in set: Span<UInt8>) -> AttributeType? {
        var cursor = ASN1Cursor(set, allowing: .nonMinimalLengths)
        guard let first = try? cursor.read(.sequence) else { return nil }
        return attributeType(fields: first.content)
    }

    /// Returns the type of an attribute: SEQUENCE { type INTEGER, version INTEGER, value OCTET STRING }. The value may
    /// be cut off.
    private static func attributeType(fields: Span<UInt8>) -> AttributeType? {
        var cursor = ASN1Cursor(fields, allowing: .nonMinimalLengths)
        guard let type = try? cursor.read(.integer), let number = try? type.integer(as: Int64.self),
            (try? cursor.read(.integer)) != nil, cursor.peekTag() == .octetString
        else { return nil }
        return AttributeType(rawValue: number)
    }

    /// Returns whether an element is a string whose content is one well-formed element or, if the string is cut off,
    /// the beginning of one.
    ///
    /// Each element is read once here: a string inside the content is read only when it is reached.
    package func enters(_ node: ASN1Outline.Node, _ bytes: Span<UInt8>) -> Bool {
        guard node.tag == .octetString || node.tag == .bitString, let range = node.content,
            let count = node.contentCount
        else { return false }
        if case .opaque = levels[node.depth + 1].role { return false }
        let content = bytes.extracting(range)
        let depth = ASN1Outline.maximumDepth - node.depth - 1
        guard node.wrapperCount < content.count else { return false }
        let wrapped = content.extracting(node.wrapperCount...)
        // A key or an ECDSA signature: no bits unused, and a SEQUENCE.
        if node.tag == .bitString, content[0] != 0 || wrapped[0] != 0x30 { return false }
        guard content.count == count else {
            let first = ASN1Outline.Node(cutOffAt: 0, in: wrapped, depth: 0)
            return first.map { $0.contentOffset + ($0.contentCount ?? 0) == count - node.wrapperCount } ?? false
        }
        return ASN1Outline.isOneElement(wrapped, depth)
    }
}
