/// An element of BER taken apart, to be put together again right or wrong.
///
/// Only for what the generator has minted itself: it reads recursively.
struct Node: Sendable {
    enum Body: Sendable {
        case octets([UInt8])
        case nodes([Node])
    }

    enum Length: Sendable {
        case minimal
        /// `80` … `00 00`
        case indefinite
        /// Octets in the place of the length, whatever they say.
        case octets([UInt8])
    }

    /// The identifier octets.
    var tag: [UInt8]
    var length = Length.minimal
    var body: Body

    init(_ tag: UInt8, _ octets: [UInt8]) {
        self.tag = [tag]
        body = .octets(octets)
    }

    init(_ tag: UInt8, nodes: [Node]) {
        self.tag = [tag]
        body = .nodes(nodes)
    }

    /// Takes one DER element apart; primitive elements stay whole.
    init(_ bytes: [UInt8]) {
        var position = 0
        self = Node.read(bytes, &position)
    }

    static func elements(_ bytes: [UInt8]) -> [Node] {
        var position = 0
        var nodes: [Node] = []
        while position < bytes.count { nodes.append(read(bytes, &position)) }
        return nodes
    }

    private static func read(_ bytes: [UInt8], _ position: inout Int) -> Node {
        let header = Header(bytes, at: position)
        let content = Array(bytes[header.content..<header.end])
        position = header.end
        return bytes[header.start] & 0x20 == 0
            ? Node(bytes[header.start], content) : Node(bytes[header.start], nodes: elements(content))
    }

    /// The length octets that DER wants.
    static func minimalLength(_ count: Int) -> [UInt8] {
        var octets: [UInt8] = []
        octets.append(length: count)
        return octets
    }

    var content: [UInt8] {
        switch body {
        case .octets(let octets): octets
        case .nodes(let nodes): nodes.flatMap(\.encoded)
        }
    }

    var encoded: [UInt8] {
        let content = content
        switch length {
        case .minimal: return tag + Node.minimalLength(content.count) + content
        case .indefinite: return tag + [0x80] + content + [0, 0]
        case .octets(let octets): return tag + octets + content
        }
    }

    // MARK: Parts

    var nodes: [Node] {
        get {
            if case .nodes(let nodes) = body { nodes } else { [] }
        }
        set { body = .nodes(newValue) }
    }

    var octets: [UInt8] {
        get { content }
        set { body = .octets(newValue) }
    }

    subscript(path: [Int]) -> Node {
        get {
            var node = self
            for index in path { node = node.nodes[index] }
            return node
        }
        set {
            guard let first = path.first else { return self = newValue }
            nodes[first][Array(path.dropFirst())] = newValue
        }
    }

    subscript(path: Int...) -> Node {
        get { self[path] }
        set { self[path] = newValue }
    }
}

/// Where an element begins, where its content does, and where it ends.
struct Header {
    let start: Int
    let content: Int
    /// After the content, and after the end-of-contents of an indefinite length.
    let end: Int
    let isIndefinite: Bool

    init(_ bytes: [UInt8], at start: Int) {
        self.start = start
        var position = start + 1
        if bytes[start] & 0x1F == 0x1F {
            while bytes[position] >= 0x80 { position += 1 }
            position += 1
        }
        var length = Int(bytes[position])
        position += 1
        isIndefinite = length == 0x80
        if isIndefinite {
            content = position
            while bytes[position] != 0 || bytes[position + 1] != 0 { position = Header(bytes, at: position).end }
            end = position + 2
            return
        }
        if length > 0x80 {
            let count = length - 0x80
            length = bytes[position..<position + count].reduce(0) { $0 << 8 | Int($1) }
            position += count
        }
        content = position
        end = position + length
    }
}

/// Where in an input the fault is.
enum Place: Sendable {
    /// Nowhere: no offset.
    case nowhere
    case byte(Int)
    /// That many bytes before the end of the input.
    case fromEnd(Int)
    case found(@Sendable ([UInt8]) -> Int?)
    /// The start of an element, by the indices that lead to it. An OCTET STRING contains the elements in it.
    case node([Int])
    /// The end of that element.
    case end([Int])
    /// The start of its content.
    case content([Int])
    /// That many bytes after the start of an element.
    case within([Int], Int)
    /// In an attribute of a DER receipt, the first or another of that type; the path goes on from the attribute.
    case attribute(Int, occurrence: Int = 0, [Int] = [])
    /// The same in a purchase of a DER receipt.
    case purchase(Int, Int, occurrence: Int = 0, [Int] = [])

    func offset(in bytes: [UInt8]) -> Int? {
        switch self {
        case .nowhere: return nil
        case .byte(let offset): return offset
        case .fromEnd(let distance): return bytes.count - distance
        case .found(let find): return find(bytes)
        case .node(let path): return Place.start(path, bytes)
        case .end(let path): return Header(bytes, at: Place.start(path, bytes)).end
        case .content(let path): return Place.contentStart(bytes, Place.start(path, bytes))
        case .within(let path, let distance): return Place.start(path, bytes) + distance
        case .attribute(let type, let occurrence, let path):
            return Place.attribute(type, occurrence, in: Place.start(Path.payload, bytes), bytes)
                .map { Place.start(path, bytes, from: $0) }
        case .purchase(let index, let type, let occurrence, let path):
            return Place.attribute(17, index, in: Place.start(Path.payload, bytes), bytes)
                .flatMap { Place.attribute(type, occurrence, in: Place.start([2, 0], bytes, from: $0), bytes) }
                .map { Place.start(path, bytes, from: $0) }
        }
    }

    private static func attribute(_ type: Int, _ occurrence: Int, in set: Int, _ bytes: [UInt8]) -> Int? {
        var occurrence = occurrence
        var position = contentStart(bytes, set)
        let end = Header(bytes, at: set).end
        while position < end {
            let header = Header(bytes, at: Header(bytes, at: position).content)
            let value = bytes[header.content..<header.end].reduce(0) { $0 << 8 | Int($1) }
            if value == type, bytes[header.start] == 0x02 {
                if occurrence == 0 { return position }
                occurrence -= 1
            }
            position = Header(bytes, at: position).end
        }
        return nil
    }

    /// Only what stands in front of the element must be well-formed.
    private static func start(_ path: [Int], _ bytes: [UInt8], from start: Int = 0) -> Int {
        var position = start
        for index in path {
            position = contentStart(bytes, position)
            for _ in 0..<index { position = Header(bytes, at: position).end }
        }
        return position
    }

    private static func contentStart(_ bytes: [UInt8], _ start: Int) -> Int {
        var position = start + 1
        if bytes[start] & 0x1F == 0x1F {
            while bytes[position] >= 0x80 { position += 1 }
            position += 1
        }
        let length = bytes[position]
        return position + 1 + (length > 0x80 ? Int(length & 0x7F) : 0)
    }
}

/// The parts of a DER container.
enum Path {
    static let contentType = [0]
    static let signedData = [1, 0]
    static let version = [1, 0, 0]
    static let digestAlgorithms = [1, 0, 1]
    static let encapsulated = [1, 0, 2]
    static let innerContentType = [1, 0, 2, 0]
    static let eContent = [1, 0, 2, 1]
    static let octets = [1, 0, 2, 1, 0]
    /// The SET in the OCTET STRING.
    static let payload = [1, 0, 2, 1, 0, 0]
    static let certificates = [1, 0, 3]
    static let signerInfos = [1, 0, 4]
    static let signer = [1, 0, 4, 0]
    static func certificate(_ index: Int, _ rest: Int...) -> [Int] { certificates + [index] + rest }
}
