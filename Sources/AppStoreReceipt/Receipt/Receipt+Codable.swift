import SpanASN1
import StrictText

extension Receipt: Codable {
    /// Encodes the payload as one base64 string, byte for byte.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encodeBase64(storage.bytes[storage.payload])
    }

    /// Decodes a payload and checks every value in it.
    ///
    /// This verifies no signature: anyone who can write to the storage can change the payload. To trust a stored
    /// receipt, store the receipt itself and verify it again.
    ///
    /// - Throws: `DecodingError.dataCorrupted`, with the reason in its `underlyingError`. A payload of more than 64
    ///   MiB, the default of ``VerificationLimits/maximumReceiptByteCount``, is refused.
    public init(from decoder: any Decoder) throws {
        self.init(storage: try Storage(payload: decoder.decodeBase64(), decoder))
    }
}

extension InAppPurchase: Codable {
    /// Encodes the record as one base64 string, byte for byte.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encodeBase64(storage.octets(storage.table.purchases[index].record))
    }

    /// Decodes a record and checks every value in it. The record is the only purchase of its receipt, so its ``index``
    /// is 0.
    public init(from decoder: any Decoder) throws {
        let record = try decoder.decodeBase64()
        var writer = ASN1Writer()
        writer.begin(.set)
        writer.begin(.sequence)
        writer.writeInteger(AttributeType.inAppPurchase.rawValue)
        writer.writeInteger(1)
        writer.begin(.octetString)
        writer.write(.set, content: record.span)
        writer.end()
        writer.end()
        writer.end()
        self.init(storage: try Receipt.Storage(payload: writer.finish(), decoder), index: 0)
    }
}

extension Receipt.Storage {
    fileprivate convenience init(payload: [UInt8], _ decoder: any Decoder) throws {
        let table: ReceiptTable
        do throws(ASN1DecodingError) {
            table = try PayloadDecoder.decode(
                payload.span, baseOffset: 0, maximumPurchaseCount: VerificationLimits().maximumPurchaseCount)
        } catch {
            throw decoder.corrupted(VerificationError(.payload(error)))
        }
        self.init(bytes: payload, payload: 0..<payload.count, table: table)
    }
}

extension Encoder {
    fileprivate func encodeBase64(_ octets: ArraySlice<UInt8>) throws {
        var container = singleValueContainer()
        try container.encode(Base64.encode(octets.span))
    }
}

extension Decoder {
    fileprivate func decodeBase64() throws -> [UInt8] {
        let text = try singleValueContainer().decode(String.self)
        let maximumReceiptByteCount = VerificationLimits().maximumReceiptByteCount
        // The size of their base64, with padding.
        let limit = (maximumReceiptByteCount + 2) / 3 * 4
        let tooLarge = InputError(.inputTooLarge, armor: .base64, offset: limit)
        guard text.utf8.count <= limit else { throw corrupted(tooLarge) }
        let decoded: [UInt8]
        do throws(Base64Error) {
            decoded = try text.withUTF8Bytes { (text) throws(Base64Error) in
                try Base64.decode(text, as: [.standard, .padded])
            }
        } catch {
            throw corrupted(error)
        }
        guard decoded.count <= maximumReceiptByteCount else { throw corrupted(tooLarge) }
        return decoded
    }

    fileprivate func corrupted(_ error: any Error) -> DecodingError {
        DecodingError.dataCorrupted(
            .init(codingPath: codingPath, debugDescription: "\(error)", underlyingError: error))
    }
}
