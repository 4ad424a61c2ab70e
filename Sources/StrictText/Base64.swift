import CBase64
import LargeMemory

/// The reason a text could not be read as base64, and the place of the fault.
public struct Base64Error: Error, Hashable, Sendable {
    public enum Kind: Sendable {
        /// The syntax does not allow a character.
        case invalidCharacter
        /// A text has `-` or `_` together with `+` or `/`; or a literal `+` together with spaces that stand for `+`.
        case mixedAlphabets
        /// The padding is missing, too short or too long, or is followed by other characters.
        case invalidPadding
        /// A single character is left over. Its six bits are less than a byte.
        case truncated
        /// A space between two lines could also be a `+`.
        case ambiguousSpace
        /// The bits of the last character that do not belong to a byte are not zero (RFC 4648, 3.5).
        case nonZeroTrailingBits
    }

    public let kind: Kind
    /// The position of the fault, in bytes from the start of the text.
    public let offset: Int

    public init(_ kind: Kind, offset: Int) {
        self.kind = kind
        self.offset = offset
    }
}

/// A strict reader of base64 (RFC 4648) in one of several syntaxes, and a writer.
///
/// A text has one reading. If a syntax allows whitespace and the changes of form decoding, these rules apply:
/// - CR, LF and tab are skipped everywhere. They end a line.
/// - A space inside a line, between two characters other than whitespace, is a `+` that form decoding has changed. Then
///   *every* space between the first and the last character is a `+`, also next to a line break, and the text must not
///   contain `+`, `-` or `_`.
/// - If no space is inside a line, all spaces are whitespace. Spaces between lines are refused as ambiguous, unless a
///   `+`, `-` or `_` in the text proves that it was not form-decoded.
/// - Spaces before the first and after the last character are whitespace.
/// - If spaces were skipped without such a proof, the number of characters including padding must be a multiple of
///   four, because a `+` among the spaces would change it. Otherwise, padding can be omitted.
public enum Base64 {
    /// The characters that a text may contain.
    public struct Syntax: OptionSet, Sendable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// `+` and `/` (RFC 4648, 4).
        public static let standard = Syntax(rawValue: 1 << 0)
        /// `-` and `_` (RFC 4648, 5), but not together with `+` or `/`.
        public static let urlSafe = Syntax(rawValue: 1 << 1)
        public static let padded = Syntax(rawValue: 1 << 2)
        public static let unpadded = Syntax(rawValue: 1 << 3)
        /// Line breaks and tabs, and spaces around lines.
        public static let whitespace = Syntax(rawValue: 1 << 4)
        /// Spaces instead of `+`.
        public static let formDecoded = Syntax(rawValue: 1 << 5)
        /// JSON's `\/` instead of `/`.
        public static let escapedSlash = Syntax(rawValue: 1 << 6)

        /// All spellings in which receipts were seen in transport from an app to a server.
        public static let transported = Syntax(rawValue: 0x7F)
        /// The body of a PEM file (RFC 7468, 2).
        public static let pem: Syntax = [.standard, .padded, .whitespace]
        /// The parts of a JWS (RFC 7515, 2).
        public static let jws: Syntax = [.urlSafe, .unpadded]
        /// RFC 4648, section 4, without exceptions: the certificates of a JWS header (RFC 7515, 4.1.6).
        public static let strict: Syntax = [.standard, .padded]
    }

    /// The beginning of a text, decoded up to the first group of four characters that has one outside the alphabets.
    /// The end of the text need not be known yet.
    public struct Beginning: ~Copyable {
        /// The decoded bytes: the first `count`.
        fileprivate var bytes: [UInt8]
        fileprivate var count = 0
        /// The number of decoded characters, which is a multiple of four.
        public fileprivate(set) var characterCount = 0
        fileprivate var flags: UInt32 = 0

        /// - Parameter text: Characters that begin with the text, and may continue after it.
        public init(of text: Span<UInt8>) {
            // Four characters are at most three bytes; eight more because stores are eight bytes wide.
            // `decode` removes the bytes that are not written.
            bytes = unsafe [UInt8](unwrittenCount: text.count / 4 * 3 + 8)
            flags = decodeQuanta(text, &characterCount, into: &bytes, &count)
        }
    }

    /// Decodes all of `text`.
    ///
    /// Time and memory are linear. An empty text has no bytes.
    public static func decode(
        _ text: Span<UInt8>, as syntax: Syntax = .transported
    ) throws(Base64Error) -> [UInt8] {
        var beginning = Beginning(of: text)
        return try decode(text, after: &beginning, as: syntax)
    }

    /// Decodes all of `text`.
    ///
    /// - Parameter beginning: The beginning of this text. It is empty afterwards.
    public static func decode(
        _ text: Span<UInt8>, after beginning: inout Beginning, as syntax: Syntax
    ) throws(Base64Error) -> [UInt8] {
        defer { beginning.bytes = [] }
        let table = Self.table.span.extracting(768..<1024)
        var position = beginning.characterCount
        var count = beginning.count
        var flags = beginning.flags
        // The current group, if its characters are read one by one.
        var quantum: UInt32 = 0
        var sextets = 0
        var padding = 0
        var lastOffset = 0
        var spaces: Spaces?

        while position < text.count {
            if sextets == 0, table[Int(text[position])] < invalidFlag {
                flags |= decodeQuanta(text, &position, into: &beginning.bytes, &count)
                if position == text.count { break }
            }
            let offset = position
            var byte = text[position]
            position += 1
            switch byte {
            case .carriageReturn, .lineFeed, .tab:
                guard syntax.contains(.whitespace) else { throw Base64Error(.invalidCharacter, offset: offset) }
                continue
            case .space:
                if spaces == nil { spaces = Spaces(in: text) }
                guard let spaces, spaces.isAllowed(in: syntax) else {
                    throw Base64Error(.invalidCharacter, offset: offset)
                }
                guard spaces.isPlus(at: offset) else { continue }
                byte = .plus
            case .backslash:
                guard syntax.contains(.escapedSlash), position < text.count, text[position] == .slash else {
                    throw Base64Error(.invalidCharacter, offset: offset)
                }
                byte = .slash
                position += 1
                flags |= slashFlag
            case .equalsSign:
                guard syntax.contains(.padded) else { throw Base64Error(.invalidCharacter, offset: offset) }
                guard sextets >= 2, sextets + padding < 4 else { throw Base64Error(.invalidPadding, offset: offset) }
                padding += 1
                continue
            default:
                flags |= table[Int(byte)]
            }
            let entry = table[Int(byte)]
            guard entry < invalidFlag else { throw Base64Error(.invalidCharacter, offset: offset) }
            guard padding == 0 else { throw Base64Error(.invalidPadding, offset: offset) }
            quantum = quantum << 6 | entry & 0x3F
            sextets += 1
            lastOffset = offset
            if sextets == 4 {
                store(quantum, into: &beginning.bytes, &count)
                quantum = 0
                sextets = 0
            }
        }

        try checkAlphabet(text, flags, syntax, spaces)
        // A skipped space might have been a `+`.
        let isInDoubt =
            syntax.contains(.formDecoded) && flags & (plusFlag | urlSafeFlag) == 0
            && spaces.map(\.areSkipped) == true
        if isInDoubt, let offset = spaces?.betweenLines { throw Base64Error(.ambiguousSpace, offset: offset) }
        if sextets > 0 {
            if padding == 0 {
                guard sextets > 1 else { throw Base64Error(.truncated, offset: lastOffset) }
                guard syntax.contains(.unpadded), !isInDoubt else {
                    throw Base64Error(.invalidPadding, offset: text.count)
                }
            } else {
                guard sextets + padding == 4 else { throw Base64Error(.invalidPadding, offset: text.count) }
            }
            quantum <<= 6 * UInt32(4 - sextets)
            // The bits after the last byte.
            guard quantum & (sextets == 2 ? 0xFFFF : 0xFF) == 0 else {
                throw Base64Error(.nonZeroTrailingBits, offset: lastOffset)
            }
            store(quantum, into: &beginning.bytes, &count)
            count -= 4 - sextets
        }
        beginning.bytes.removeLast(beginning.bytes.count - count)
        // The capacity may include what follows the text: do not keep it.
        let isRoomy = beginning.bytes.capacity > 2 * count + 256
        return isRoomy ? [UInt8](copying: beginning.bytes.span) : beginning.bytes
    }

    /// Decodes groups of four characters up to the first group that has one outside the alphabets.
    ///
    /// With chunks of a constant length, the compiler removes all bounds checks inside a chunk. A separate function
    /// keeps the state of the loop in registers: 6.2 GB/s of text instead of 3.4. (Loads dominate: arithmetic on
    /// vectors of 16 bytes instead of the table is slower, 4.1 GB/s.)
    ///
    /// - Returns: The flags of all decoded characters.
    @inline(never)
    private static func decodeQuanta(
        _ text: Span<UInt8>, _ textPosition: inout Int, into result: inout [UInt8], _ resultCount: inout Int
    ) -> UInt32 {
        let table = Self.table.span.extracting(0..<1024)
        @inline(__always)
        func quantum(_ chunk: Span<UInt8>, _ index: Int) -> UInt32 {
            table[Int(chunk[index])] | table[256 + Int(chunk[index + 1])] | table[512 + Int(chunk[index + 2])]
                | table[768 + Int(chunk[index + 3])]
        }
        var elements = result.mutableSpan
        // `mutableBytes` is unsafe for types with invalid bit patterns; UInt8 has none, and `storeBytes` checks its
        // bounds. Storing six bytes at once is faster than one by one (5.0 GB/s).
        var output = unsafe elements.mutableBytes
        var position = textPosition
        var count = resultCount
        var flags = decodeGroups(text, &position, into: &output, &count)
        while text.count - position >= 32 {
            let chunk = text.extracting(position..<position &+ 32)
            var room = output._mutatingExtracting(count..<count &+ 26)
            var all: UInt32 = 0
            for pair in 0..<4 {
                let first = quantum(chunk, 8 * pair)
                let second = quantum(chunk, 8 * pair + 4)
                all |= first | second
                // The flags above the 24 bits of `first` are shifted out.
                let both = UInt64(first) << 40 | UInt64(second & 0xFF_FFFF) << 16
                room.storeBytes(of: both.bigEndian, toByteOffset: 6 * pair, as: UInt64.self)
            }
            guard all < invalidFlag else { break }
            flags |= all
            position &+= 32
            count &+= 24
        }
        while text.count - position >= 4 {
            let next = quantum(text.extracting(position..<position + 4), 0)
            guard next < invalidFlag else { break }
            flags |= next
            output.storeBytes(of: (UInt64(next) << 40).bigEndian, toByteOffset: count, as: UInt64.self)
            position &+= 4
            count &+= 3
        }
        textPosition = position
        resultCount = count
        return flags
    }

    /// Decodes groups of 32 characters with AVX2, if the processor has it, up to the first group that has one outside
    /// the standard alphabet.
    ///
    /// The use of `unsafe` is safe: the C function reads and writes within the counts that it gets.
    private static func decodeGroups(
        _ text: Span<UInt8>, _ position: inout Int, into output: inout MutableRawSpan, _ count: inout Int
    ) -> UInt32 {
        let rest = text.extracting(position...)
        guard rest.count >= 32 else { return 0 }
        var room = output._mutatingExtracting(count...)
        var found: UInt32 = 0
        let groupCount = unsafe rest.withUnsafeBufferPointer { source in
            unsafe room.withUnsafeMutableBytes { target in
                unsafe cbase64_decode_groups(
                    source.baseAddress, source.count, target.baseAddress, target.count, &found)
            }
        }
        position += 32 * groupCount
        count += 24 * groupCount
        return (found & UInt32(CBASE64_PLUS) != 0 ? plusFlag : 0)
            | (found & UInt32(CBASE64_SLASH) != 0 ? slashFlag : 0)
    }

    private static func store(_ quantum: UInt32, into result: inout [UInt8], _ count: inout Int) {
        result[count] = UInt8(truncatingIfNeeded: quantum >> 16)
        result[count + 1] = UInt8(truncatingIfNeeded: quantum >> 8)
        result[count + 2] = UInt8(truncatingIfNeeded: quantum)
        count += 3
    }

    private static func checkAlphabet(
        _ text: Span<UInt8>, _ flags: UInt32, _ syntax: Syntax, _ spaces: Spaces?
    ) throws(Base64Error) {
        let standard = plusFlag | slashFlag
        if !syntax.contains(.urlSafe), flags & urlSafeFlag != 0 {
            throw Base64Error(.invalidCharacter, offset: firstOffset(of: urlSafeFlag, in: text))
        }
        if !syntax.contains(.standard), flags & standard != 0 {
            throw Base64Error(.invalidCharacter, offset: firstOffset(of: standard, in: text))
        }
        if flags & standard != 0, flags & urlSafeFlag != 0 {
            let offset = max(firstOffset(of: standard, in: text), firstOffset(of: urlSafeFlag, in: text))
            throw Base64Error(.mixedAlphabets, offset: offset)
        }
        if let spaces, spaces.isFormDecoded, flags & (plusFlag | urlSafeFlag) != 0 {
            throw Base64Error(.mixedAlphabets, offset: firstOffset(of: plusFlag | urlSafeFlag, in: text))
        }
    }

    private static func firstOffset(of flag: UInt32, in text: Span<UInt8>) -> Int {
        var offset = 0
        while offset < text.count {
            let entry = table[768 + Int(text[offset])]
            if entry < invalidFlag, entry & flag != 0 { break }
            offset += 1
        }
        return offset
    }

    private static let slashFlag: UInt32 = 1 << 24
    private static let plusFlag: UInt32 = 1 << 25
    private static let urlSafeFlag: UInt32 = 1 << 26
    private static let invalidFlag: UInt32 = 1 << 31

    /// For each position in a group and each byte, the byte's six bits at that position of 24 bits, and flags above.
    private static let table: [UInt32] = {
        var table = [UInt32](repeating: invalidFlag, count: 1024)
        func set(_ byte: UInt8, _ value: Int, _ flag: UInt32 = 0) {
            for place in 0..<4 { table[place * 256 + Int(byte)] = UInt32(value) << (18 - 6 * UInt32(place)) | flag }
        }
        for (value, byte) in alphabet.enumerated() { set(byte, value) }
        set(.plus, 62, plusFlag)
        set(.slash, 63, slashFlag)
        set(UInt8(ascii: "-"), 62, urlSafeFlag)
        set(UInt8(ascii: "_"), 63, urlSafeFlag)
        return table
    }()

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    private static let urlSafeAlphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
}

extension Base64 {
    /// The meaning of the spaces of a text, by the rules above. It is computed at the first space.
    private struct Spaces {
        /// Whether there are spaces before the first or after the last character.
        private var areAround = false
        /// The first space inside a line, if there is one.
        private var inner: Int?
        /// The first space between the first and the last character.
        private var edge: Int?
        private let characters: Range<Int>

        init(in text: Span<UInt8>) {
            var start = 0
            var end = text.count
            while start < end, text[start].isWhitespace {
                if text[start] == .space { areAround = true }
                start += 1
            }
            while start < end, text[end - 1].isWhitespace {
                if text[end - 1] == .space { areAround = true }
                end -= 1
            }
            characters = start..<end
            while start < end, inner == nil {
                let run = start
                while start < end, text[start] == .space { start += 1 }
                // The first and last characters are not whitespace, so every run has two neighbors.
                if start > run {
                    if !text[run - 1].isWhitespace, !text[start].isWhitespace { inner = run }
                    if edge == nil { edge = run }
                }
                start += 1
            }
        }

        var isFormDecoded: Bool { inner != nil }
        /// The first space between two lines, if they are whitespace.
        var betweenLines: Int? { isFormDecoded ? nil : edge }
        var areSkipped: Bool { !isFormDecoded || areAround }
        func isPlus(at offset: Int) -> Bool { isFormDecoded && characters.contains(offset) }
        func isAllowed(in syntax: Syntax) -> Bool { syntax.contains(isFormDecoded ? .formDecoded : .whitespace) }
    }
}

extension Base64 {
    /// Returns bytes as base64: standard with padding, or URL-safe without.
    public static func encode(_ bytes: Span<UInt8>, urlSafe: Bool = false) -> String {
        var text: [UInt8] = []
        append(bytes, to: &text, urlSafe: urlSafe)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends bytes as base64: standard with padding, or URL-safe without.
    public static func append(_ bytes: Span<UInt8>, to text: inout [UInt8], urlSafe: Bool = false) {
        let alphabet = (urlSafe ? urlSafeAlphabet : alphabet).span.extracting(0..<64)
        text.append(addingCapacity: (bytes.count + 2) / 3 * 4) { output in
            var position = 0
            while bytes.count - position >= 3 {
                let chunk = bytes.extracting(position..<position + 3)
                let quantum = Int(chunk[0]) << 16 | Int(chunk[1]) << 8 | Int(chunk[2])
                output.append(alphabet[quantum >> 18])
                output.append(alphabet[quantum >> 12 & 0x3F])
                output.append(alphabet[quantum >> 6 & 0x3F])
                output.append(alphabet[quantum & 0x3F])
                position += 3
            }
            let left = bytes.count - position
            guard left > 0 else { return }
            let quantum = Int(bytes[position]) << 16 | (left == 2 ? Int(bytes[position + 1]) << 8 : 0)
            output.append(alphabet[quantum >> 18])
            output.append(alphabet[quantum >> 12 & 0x3F])
            if left == 2 { output.append(alphabet[quantum >> 6 & 0x3F]) }
            if !urlSafe { output.append(repeating: .equalsSign, count: 3 - left) }
        }
    }
}

extension UInt8 {
    @inlinable package static var tab: UInt8 { UInt8(ascii: "\t") }
    @inlinable package static var lineFeed: UInt8 { UInt8(ascii: "\n") }
    @inlinable package static var carriageReturn: UInt8 { UInt8(ascii: "\r") }
    @inlinable package static var space: UInt8 { UInt8(ascii: " ") }
    @inlinable package static var quotationMark: UInt8 { UInt8(ascii: "\"") }
    @inlinable package static var plus: UInt8 { UInt8(ascii: "+") }
    @inlinable package static var slash: UInt8 { UInt8(ascii: "/") }
    @inlinable package static var equalsSign: UInt8 { UInt8(ascii: "=") }
    @inlinable package static var backslash: UInt8 { UInt8(ascii: "\\") }

    @inlinable package var isWhitespace: Bool {
        self == .space || self == .lineFeed || self == .carriageReturn || self == .tab
    }
}
