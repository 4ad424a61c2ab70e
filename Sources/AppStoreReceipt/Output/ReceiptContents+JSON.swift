import StrictText

extension Receipt {
    /// The receipt as a JSON object: the keys of verifyReceipt's answer where it has them, and `in_app`.
    ///
    /// Dates are in RFC 3339 (`2020-04-01T04:07:39Z`, with milliseconds where there are any), numbers are numbers, octets are lower-case
    /// hexadecimal. An absent field is an absent key. What no field shows is in `unknown_attributes`, as
    /// `{"type":…,"version":…,"value":…}`.
    ///
    /// In all JSON of this library control characters in strings are escaped: those that JSON forbids, DEL and U+0080–U+009F, U+2028 and
    /// U+2029, and those that turn text around (U+061C, U+200E, U+200F, U+202A–U+202E, U+2066–U+2069).
    public var json: String { JSONWriter.text { $0.receipt(self) } }
}

extension VerifiedReceipt {
    /// `{"verified":true,"trust":{…},"receipt":{…}}`, with the object of ``Receipt/json``; one line, which `receipt verify` prints too.
    public var json: String { VerifiedEvidence.receipt(self).json }
}

extension UnverifiedReceipt {
    /// `{"verified":false,"receipt":{…}}`, with the object of ``Receipt/json``.
    public var json: String { JSONWriter.text { $0.decoding(.success(self), file: nil) } }
}

extension VerificationError {
    /// `{"verified":false,"error":{"code":…,"stage":…,"category":…,"message":…,"advice":…}}`, with `found`, `expected`, `part`, `offset`,
    /// `offset_in` (an ``OffsetBase``), `form` (what the input was taken for) and `path` where they are known.
    public var json: String { JSONWriter.text { $0.verdict(.failure(self), file: nil) } }
}

extension VerifiedEvidence {
    /// As ``VerifiedReceipt/json``, and for a JWS `{"verified":true,"trust":{…},"transaction":{…}}`, or `renewal_info`,
    /// `app_transaction`, `notification`, `realtime_request`; a notification's verified parts stand beside it. Their objects have Apple's names
    /// and values, but dates are in RFC 3339. One line, which `receipt verify` prints too.
    public var json: String { JSONWriter.text { $0.verdict(.success(self), file: nil) } }
}

extension JSONWriter {
    fileprivate static func text(_ write: (inout JSONWriter) -> Void) -> String {
        var writer = JSONWriter()
        write(&writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
