import SpanASN1
import SpanPKCS7
import TestSupport
import Testing

/// One element of a hand-made structure, by name, so that a test can damage it and say where the error must be.
struct Node {
    var name: String
    var tag: UInt8
    var content: [UInt8]
    /// In place of `content`.
    var children: [Node]?

    init(_ name: String, _ tag: UInt8, _ content: [UInt8] = []) {
        self.name = name
        self.tag = tag
        self.content = content
    }

    init(_ name: String, _ tag: UInt8, nodes: [Node]) {
        self.init(name, tag)
        children = nodes
    }

    /// An OBJECT IDENTIFIER.
    init(_ name: String, _ identifier: ASN1ObjectIdentifier) { self.init(name, 0x06, identifier.content) }

    /// The encoding, and where each element is in it.
    func encoded() -> (bytes: [UInt8], places: [String: Range<Int>]) {
        var places: [String: Range<Int>] = [:]
        return (encode(at: 0, &places), places)
    }

    private func encode(at start: Int, _ places: inout [String: Range<Int>]) -> [UInt8] {
        var content = content
        if let children {
            // The header's size follows from the content's, whose places follow from the header's.
            var ignored: [String: Range<Int>] = [:]
            let size = children.reduce(0) { $0 + $1.encode(at: 0, &ignored).count }
            let contentStart = start + tlv(tag, [UInt8](repeating: 0, count: size)).count - size
            content = []
            for child in children { content += child.encode(at: contentStart + content.count, &places) }
        }
        let bytes = tlv(tag, content)
        places[name] = start..<start + bytes.count
        return bytes
    }

    /// Gives the siblings of the element with this name, and its index among them, to `body`.
    mutating func change(_ name: String, _ body: (inout [Node], Int) -> Void) -> Bool {
        guard var nodes = children else { return false }
        if let index = nodes.firstIndex(where: { $0.name == name }) {
            body(&nodes, index)
            children = nodes
            return true
        }
        for index in nodes.indices where nodes[index].change(name, body) {
            children = nodes
            return true
        }
        return false
    }

    func changed(_ damage: Damage, location: SourceLocation = #_sourceLocation) -> Node {
        var root = Node("", 0, nodes: [self])
        let isFound =
            switch damage {
            case .remove(let name): root.change(name) { _ = $0.remove(at: $1) }
            case .double(let name):
                root.change(name) { nodes, index in
                    var copy = nodes[index]
                    copy.name += "'"
                    nodes.insert(copy, at: index + 1)
                }
            case .retag(let name, let tag): root.change(name) { $0[$1].tag = tag }
            case .content(let name, let text):
                root.change(name) {
                    $0[$1].children = nil
                    $0[$1].content = hex(text)
                }
            case .replace(let name, let node): root.change(name) { $0[$1] = node }
            }
        #expect(isFound, "no such element", sourceLocation: location)
        return root.children?.first ?? self
    }
}

/// One fault.
enum Damage {
    case remove(String)
    /// The copy's name ends in `'`.
    case double(String)
    case retag(String, UInt8)
    case content(String, String)
    case replace(String, Node)
}

/// Where an error must be, in the damaged structure.
enum Place {
    case start(String)
    case end(String)
}

/// A fault and the one error that it must lead to.
struct Fault: CustomTestStringConvertible {
    let damage: Damage
    let kind: ASN1DecodingError.Kind
    let place: Place
    let path: ASN1Path

    init(
        _ damage: Damage, _ kind: ASN1DecodingError.Kind, _ place: Place, _ field: ASN1Field? = nil, _ index: Int? = nil
    ) {
        self.damage = damage
        self.kind = kind
        self.place = place
        path = field.map { ASN1Path($0, index: index) } ?? ASN1Path()
    }

    var testDescription: String { "\(damage) → \(kind.rawValue)" }

    /// Damages `whole` and expects the error from `read`.
    func check(
        _ whole: Node, location: SourceLocation = #_sourceLocation,
        _ read: (Span<UInt8>) throws(ASN1DecodingError) -> Void
    ) {
        let (bytes, places) = whole.changed(damage, location: location).encoded()
        let offset =
            switch place {
            case .start(let name): places[name]?.lowerBound
            case .end(let name): places[name]?.upperBound
            }
        guard let offset else {
            Issue.record("no such place: \(place)", sourceLocation: location)
            return
        }
        let expected = ASN1DecodingError(kind, offset: offset, path: path)
        do {
            try read(bytes.span)
            Issue.record("\(testDescription): accepted", sourceLocation: location)
        } catch {
            #expect(error == expected, "\(testDescription)", sourceLocation: location)
        }
    }
}

/// The error that `body` throws, if any.
func failure(_ body: () throws(ASN1DecodingError) -> Void) -> ASN1DecodingError? {
    do {
        try body()
        return nil
    } catch {
        return error
    }
}

// MARK: - Whole structures

extension Node {
    static func algorithm(_ name: String, _ identifier: ASN1ObjectIdentifier) -> Node {
        Node(name, 0x30, nodes: [Node(name + ".algorithm", identifier), Node(name + ".parameters", 0x05)])
    }

    static func name(_ name: String, _ commonName: String) -> Node {
        let attribute = tlv(0x30, hex("06 03 55 04 03") + tlv(0x0C, [UInt8](commonName.utf8)))
        return Node(name, 0x30, nodes: [Node(name + ".set", 0x31, attribute)])
    }

    static func attribute(_ name: String, _ type: ASN1ObjectIdentifier, _ values: Node...) -> Node {
        Node(name, 0x30, nodes: [Node(name + ".type", type), Node(name + ".values", 0x31, nodes: values)])
    }

    static func certificateExtension(
        _ name: String, _ id: ASN1ObjectIdentifier, critical: Bool? = nil, _ value: String
    ) -> Node {
        let flag = critical.map { [Node(name + ".critical", 0x01, [$0 ? 0xFF : 0])] } ?? []
        return Node(name, 0x30, nodes: [Node(name + ".id", id)] + flag + [Node(name + ".value", 0x04, hex(value))])
    }

    /// A certificate that nobody signed; the names of its elements begin with `prefix`.
    static func certificate(_ prefix: String = "", serial: [UInt8] = [7], issuer: String = "issuer") -> Node {
        let validity = Node(
            prefix + "validity", 0x30,
            nodes: [
                Node(prefix + "notBefore", 0x17, [UInt8]("240229235959Z".utf8)),
                Node(prefix + "notAfter", 0x18, [UInt8]("20500101000000Z".utf8)),
            ])
        let key = Node(
            prefix + "key", 0x30,
            nodes: [
                .algorithm(prefix + "key.algorithm", .rsaEncryption),
                Node(prefix + "key.bits", 0x03, hex("00 30 09 02 02 00 C1 02 03 01 00 01")),
            ])
        let extensions = Node(
            prefix + "extensions", 0x30,
            nodes: [
                certificateExtension(prefix + "ski", .subjectKeyIdentifier, "04 03 0A 0B 0C"),
                certificateExtension(prefix + "usage", .keyUsage, critical: true, "03 02 07 80"),
                certificateExtension(prefix + "aki", .authorityKeyIdentifier, "30 04 80 02 01 02"),
            ])
        let fields = [
            Node(prefix + "version", 0xA0, nodes: [Node(prefix + "version.number", 0x02, [2])]),
            Node(prefix + "serial", 0x02, serial), .algorithm(prefix + "inner", .sha256WithRSAEncryption),
            .name(prefix + "issuer", issuer), validity, .name(prefix + "subject", "subject"), key,
            Node(prefix + "extensions.tag", 0xA3, nodes: [extensions]),
        ]
        return Node(
            prefix + "certificate", 0x30,
            nodes: [
                Node(prefix + "tbs", 0x30, nodes: fields), .algorithm(prefix + "outer", .sha256WithRSAEncryption),
                Node(prefix + "signature", 0x03, [0, 1, 2, 3]),
            ])
    }

    static func signerInfo(_ prefix: String = "") -> Node {
        let signed = [
            attribute(prefix + "type", .contentType, Node(prefix + "type.value", .data)),
            attribute(prefix + "hash", .messageDigest, Node(prefix + "hash.value", 0x04, [1, 2])),
        ]
        let time = Node(prefix + "time.value", 0x17, [UInt8]("240229235959Z".utf8))
        return Node(
            prefix + "signerInfo", 0x30,
            nodes: [
                Node(prefix + "version", 0x02, [1]),
                Node(
                    prefix + "sid", 0x30,
                    nodes: [.name(prefix + "issuer", "issuer"), Node(prefix + "serial", 0x02, [7])]),
                .algorithm(prefix + "digest", .sha256), Node(prefix + "signedAttrs", 0xA0, nodes: signed),
                .algorithm(prefix + "algorithm", .rsaEncryption), Node(prefix + "signature", 0x04, [9, 9]),
                Node(prefix + "unsignedAttrs", 0xA1, nodes: [attribute(prefix + "time", .signingTime, time)]),
            ])
    }

    /// A message with everything that one can have.
    static let message: Node = {
        let encapsulated = [
            Node("eContentType", .data), Node("eContent", 0xA0, nodes: [Node("octets", 0x04, [0x61, 0x62, 0x63])]),
        ]
        let certificates = [certificate("a."), Node("otherCertificate", 0xA3), certificate("b.", serial: [8])]
        let signedData = Node(
            "signedData", 0x30,
            nodes: [
                Node("version", 0x02, [1]), Node("digestAlgorithms", 0x31, nodes: [.algorithm("digest", .sha256)]),
                Node("encapContentInfo", 0x30, nodes: encapsulated),
                Node("certificates", 0xA0, nodes: certificates), Node("crls", 0xA1),
                Node("signerInfos", 0x31, nodes: [signerInfo("s."), signerInfo("t.")]),
            ])
        return Node(
            "contentInfo", 0x30, nodes: [Node("contentType", .signedData), Node("content", 0xA0, nodes: [signedData])])
    }()
}
