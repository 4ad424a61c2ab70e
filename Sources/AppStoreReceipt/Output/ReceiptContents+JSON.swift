import StrictText

extension Receipt {
    /// The receipt as a JSON object, with the keys of verifyReceipt's answer where it has them.
    ///
    /// Dates are in RFC 3339 (`2020-04-01T04:07:39Z`, with milliseconds if there are any). Numbers are JSON numbers.
    /// Octets are lowercase hexadecimal. The key of a missing field is missing. The purchases are in `in_app`.
    /// Attributes without a field are in `unknown_attributes`, as `{"type":…,"version":…,"value":…}`.
    ///
    /// In all JSON of this library, control characters in strings are escaped: those that JSON forbids, DEL and
    /// U+0080–U+009F, U+2028 and U+2029, and those that change the direction of text (U+061C, U+200E, U+200F,
    /// U+202A–U+202E, U+2066–U+2069).
    public var json: String { JSONWriter.text { $0.receipt(self) } }
}

extension VerifiedReceipt {
    /// The verified receipt as one line of JSON: `{"verified":true,"schema":1,"trust":{…},"receipt":{…}}`, with the
    /// object of ``Receipt/json``.
    ///
    /// `receipt verify --format json` prints the same.
    public var json: String { VerifiedEvidence.receipt(self).json }
}

extension UnverifiedReceipt {
    /// The unverified receipt as one line of JSON: `{"verified":false,"schema":1,"receipt":{…}}`, with the object of
    /// ``Receipt/json``.
    public var json: String { UnverifiedEvidence(parts: [EvidencePart(receipt)]).json }
}

extension VerificationError {
    /// The error as one line of JSON, for a log:
    /// `{"verified":false,"schema":1,"error":{"code":…,"stage":…,"category":…,"message":…,"advice":…}}`.
    ///
    /// `message` is the ``description``. The object `error` also has `found`, `expected`, `part`, `offset`, `offset_in`
    /// (an ``OffsetBase``), `form` (the armor that the input begins like) and `path`, if they are known.
    public var json: String { json(for: .swift) }

    /// The same with advice for an audience.
    @_spi(Surfaces) public func json(for audience: Audience) -> String {
        JSONWriter.text { $0.verdict(.failure(self), for: audience) }
    }
}

extension VerifiedEvidence {
    /// The evidence as one line of JSON, which `receipt verify --format json` prints, too.
    ///
    /// For a receipt, it is ``VerifiedReceipt/json``. For a JWS, it is
    /// `{"verified":true,"schema":1,"trust":{…},"transaction":{…}}`, or `renewal_info`, `app_transaction`,
    /// `notification` or `realtime_request` instead of `transaction`. The verified parts of a notification are members
    /// of the same object. The members have Apple's names and values, except that dates are in RFC 3339.
    public var json: String { String(decoding: jsonUTF8, as: UTF8.self) }

    /// The same as UTF-8, which does not copy the text of a large receipt.
    @_spi(Surfaces) public var jsonUTF8: [UInt8] {
        var writer = if case .receipt(let receipt) = self { JSONWriter(for: receipt.receipt) } else { JSONWriter() }
        writer.verdict(.success(self))
        return writer.bytes
    }

    /// The verdict without the contents, as one line of JSON: `{"verified":true,"kind":"receipt","trust":{…}}`.
    ///
    /// `kind` is the name of the member that ``json`` has for the contents.
    public var verdictJSON: String { JSONWriter.text { $0.verdictWithoutContents(self) } }
}

extension UnverifiedEvidence {
    /// The unverified evidence as one line of JSON, which `receipt decode --format json` prints, too:
    /// `{"verified":false,"receipt":{…}}`.
    ///
    /// A JWS has the member `header`, as received, and then those of ``VerifiedEvidence/json``. A payload of no known
    /// kind is the member `payload`.
    public var json: String { JSONWriter.text { $0.decoding(.success(self)) } }
}

extension JSONWriter {
    /// Creates a writer with room for the JSON of a receipt: verifyReceipt's takes 1.3 times the bytes of a usual
    /// payload, and ours 1.7 times.
    init(for receipt: Receipt) {
        let payloadCount = receipt.storage.payload.count
        self.init(capacity: 2048 + 3 * payloadCount, likelyCount: payloadCount / 2 * 3)
    }
}
