import StrictText

/// Classifies JSON that is no evidence, by its names and by strings that are evidence.
struct JSONSurvey {
    /// The maximum depth of the search.
    private static let maximumDepth = 8
    /// The length limit of a reported pointer to a member, in bytes.
    private static let maximumPointerCount = 256

    private let unwrapper: Unwrapper
    /// The path to the value: names and indices.
    private var way: [[UInt8]] = []
    private var arrayDepth = 0
    private var evidence: (bytes: [UInt8], pointer: [UInt8]?, offset: Int, isInArray: Bool)?
    private var (isSeveral, isAmbiguous) = (false, false)
    private var (hasID, hasProduct, hasContents, isGooglePlay) = (false, false, false, false)

    private init(_ unwrapper: Unwrapper) { self.unwrapper = unwrapper }

    /// - Parameters:
    ///   - text: A text that begins with `{` or `[`.
    ///   - isDecoded: Whether the text was decoded from base64: what is in base64 again has no name.
    static func finding(in text: Span<UInt8>, _ unwrapper: Unwrapper, isDecoded: Bool) -> Finding? {
        var survey = JSONSurvey(unwrapper)
        do throws(JSONError) {
            try JSONCursor.decode(text) { (cursor) throws(JSONError) in try survey.visit(&cursor) }
        } catch {
            if text.isCurlyQuote(at: error.offset) { return Finding(kind: .leakedText, offset: error.offset) }
            guard error.kind == .truncated, !isDecoded, let start = text.startOfOpenString else { return nil }
            guard var finding = Diagnosis(unwrapper).cutFinding(in: text.extracting(start...)) else { return nil }
            finding.offset += start
            return finding
        }
        return survey.finding
    }

    private var finding: Finding? {
        if isSeveral { return Finding(kind: .severalPieces) }
        if isAmbiguous { return Finding(kind: .ambiguousEvidence) }
        if let evidence, let pointer = evidence.pointer {
            return Finding(
                kind: .evidenceInMember, offset: evidence.offset, detail: .member(UTF8Bytes(pointer[...])))
        }
        if isGooglePlay { return Finding(kind: .googlePlay) }
        if hasProduct, hasID || hasContents { return Finding(kind: .unsignedTransaction) }
        return hasID ? Finding(kind: .transactionID) : nil
    }

    // MARK: Values

    private mutating func visit(_ cursor: inout JSONCursor) throws(JSONError) {
        switch try cursor.peekType() {
        case .string: note(try cursor.readString())
        case .object where way.count < Self.maximumDepth:
            try cursor.readObject { (cursor, name) throws(JSONError) in
                note(name: name.bytes)
                way.append(name.bytes)
                try visit(&cursor)
                way.removeLast()
            }
        case .array where way.count < Self.maximumDepth:
            arrayDepth += 1
            var index = 0
            try cursor.readArray { (cursor) throws(JSONError) in
                way.append(Array(String(index).utf8))
                try visit(&cursor)
                way.removeLast()
                index += 1
            }
            arrayDepth -= 1
        // The reader of the object or array around it skips it.
        default: break
        }
    }

    /// The names of StoreKit, verifyReceipt, the frameworks and Google Play.
    private mutating func note(name: [UInt8]) {
        func isOne(of names: [String]) -> Bool { names.contains { name.span.hasSameBytes(as: $0) } }
        hasID =
            hasID
            || isOne(of: [
                "transactionId", "transaction_id", "transactionID", "originalTransactionId", "original_transaction_id",
                "originalTransactionID", "transactionIdentifier",
            ])
        hasProduct =
            hasProduct
            || isOne(of: [
                "productId", "product_id", "productID", "productIdentifier", "bundleId", "bundle_id", "bundleID",
            ])
        hasContents =
            hasContents
            || isOne(of: [
                "in_app", "receipt_type", "purchaseDate", "purchase_date", "originalPurchaseDate", "expiresDate",
                "deviceVerification", "autoRenewStatus", "signedDate",
            ])
        isGooglePlay = isGooglePlay || isOne(of: ["packageName", "packageNameAndroid", "purchaseTokenAndroid"])
    }

    private mutating func note(_ string: borrowing JSONString) {
        let bytes = string.bytes
        isGooglePlay =
            isGooglePlay || bytes.span.isGooglePlay
            || ["GooglePlay", "google_play", "android-playstore"].contains { bytes.span.hasSameBytes(as: $0) }
        // The reader of this member reports its fault.
        if way.count == 1, Self.isRead(way[0]) { return }
        guard let found = found(in: bytes) else { return }
        guard let first = evidence else {
            evidence = (found, pointer, string.offset, arrayDepth > 0)
            return
        }
        if first.isInArray, arrayDepth > 0 {
            isSeveral = true
        } else if !first.bytes.span.hasSameBytes(as: found.span) {
            isAmbiguous = true
        }
    }

    private static func isRead(_ name: [UInt8]) -> Bool {
        for member in EvidenceMember.allCases where name.span.hasSameBytes(as: member.rawValue) { return true }
        return false
    }

    private func found(in bytes: [UInt8]) -> [UInt8]? {
        if unwrapper.isEvidence(bytes.span) { return bytes }
        guard case .evidence(let text) = unwrapper.read(bytes.span) else { return nil }
        return text.bytes
    }

    /// The path as a JSON Pointer (RFC 6901); `nil` if it is too long.
    private var pointer: [UInt8]? {
        var pointer: [UInt8] = []
        for name in way {
            pointer.append(.slash)
            for byte in name {
                switch byte {
                case UInt8(ascii: "~"): pointer += Array("~0".utf8)
                case .slash: pointer += Array("~1".utf8)
                default: pointer.append(byte)
                }
            }
            guard pointer.count <= Self.maximumPointerCount else { return nil }
        }
        return pointer
    }
}

extension Span<UInt8> {
    /// The position after the quotation mark of a JSON string that the text cuts off; `nil` if there is none.
    fileprivate var startOfOpenString: Int? {
        var start: Int?
        var position = 0
        while position < count {
            switch self[position] {
            case .backslash where start != nil: position += 1
            case .quotationMark: start = start == nil ? position + 1 : nil
            default: break
            }
            position += 1
        }
        return start
    }
}
