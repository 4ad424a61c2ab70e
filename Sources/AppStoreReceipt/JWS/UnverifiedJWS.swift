import StrictText

/// A JWS that was decoded and not verified, and the signed parts of a notification.
package struct UnverifiedJWS: Sendable {
    /// The header, as JSON.
    package let header: [UInt8]
    /// The members of ``header``, read once.
    private let headerRecord: JOSEHeaderRecord
    /// The payload, then its signed parts.
    let parts: [EvidencePart]

    /// Decodes a JWS. Its header and its payload are JSON objects of any kind.
    package init(_ text: Span<UInt8>) throws(VerificationError) {
        let part: EvidencePart
        (header, headerRecord, part) = try Self.decode(text)
        var parts = [part]
        for (name, text) in (part.contents as? AppStoreNotification)?.signedParts ?? [] {
            do throws(VerificationError) {
                parts.append(try Self.decode(text.span).part)
            } catch {
                throw error.within(name)
            }
        }
        self.parts = parts
    }

    private static func decode(
        _ text: Span<UInt8>
    ) throws(VerificationError) -> (header: [UInt8], record: JOSEHeaderRecord, part: EvidencePart) {
        let (header, payload) = try CompactJWS.decodeUnverified(
            text, maximumByteCount: VerificationLimits().maximumJWSByteCount)
        let record: JOSEHeaderRecord
        do throws(JSONError) {
            record = try JOSEHeaderRecord(members: JWSMembers(decoding: header))
        } catch {
            throw VerificationError(.headerSyntax(error))
        }
        do throws(JSONError) {
            return (header, record, try EvidencePart(unverified: payload))
        } catch {
            throw VerificationError(.members(error))
        }
    }

    /// The fields of the header, for people to read, without the certificates.
    package var headerFields: [EvidenceField] {
        headerRecord.fields.filter { !$0.name.hasSameBytes(as: "x5c") }
    }

    /// Returns the certificates of the header (`x5c`), in DER. Nothing else of the header is read.
    package func certificates() throws(VerificationError) -> [[UInt8]] {
        try JOSEHeader.allCertificates(in: header, maximumCount: VerificationLimits().maximumCertificateCount)
    }
}

extension AppStoreNotification {
    /// The JWS in it, with the names of their members.
    fileprivate var signedParts: [(name: VerificationError.Part, text: [UInt8])] {
        let parts: [(VerificationError.Part, [UInt8]?)] = [
            (.transactionInfo, data?.members.bytes(.signedTransactionInfo)),
            (.renewalInfo, data?.members.bytes(.signedRenewalInfo)),
            (.appTransactionInfo, appData?.members.bytes(.signedAppTransactionInfo)),
        ]
        return parts.compactMap { part in part.1.map { (part.0, $0) } }
    }
}

/// The header of a JWS, to be shown.
struct JOSEHeaderRecord: JWSRecord {
    enum Member: String, CaseIterable, Sendable { case alg, kid, typ }
    let members: JWSMembers<Member>
}

extension JOSEHeaderRecord.Member: JWSMember {
    static let names = JSONMembers<Self>()
    var valueType: JWSValueType { .string }
}

/// An object of unknown kind.
struct UnknownRecord: JWSRecord {
    enum Member: JWSMember {
        static let allCases: [Member] = []
        static let names = JSONMembers<Member>()
        init?(rawValue: String) { nil }
        var rawValue: String { switch self {} }
        var valueType: JWSValueType { switch self {} }
    }
    let members: JWSMembers<Member>
}
