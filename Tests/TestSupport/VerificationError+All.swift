package import AppStoreReceipt
package import SignatureTrust
import SpanASN1
import StrictText

extension VerificationError {
    /// One error for each code of each stage, of receipts and of JWS.
    ///
    /// - Parameter faults: an error of each kind, which only tests of `SignatureTrust` can make.
    package static func all(_ faults: [SignatureTrustError]) -> [VerificationError] {
        var reasons: [Reason] = InputError.Kind.allCases.map { .input(InputError($0, armor: nil, offset: 0)) }
        reasons += ASN1DecodingError.Kind.allCases.map { .container(ASN1DecodingError($0, offset: 0)) }
        reasons += ASN1DecodingError.Kind.allCases.map { .payload(ASN1DecodingError($0, offset: 0)) }
        reasons += CompactJWSFault.allCases.map { .compactJWS($0, offset: 0) }
        reasons += HeaderFault.allCases.map { .header($0, offset: 0) }
        reasons += JSONError.Kind.allCases.map { .headerSyntax(JSONError($0, offset: 0)) }
        reasons += JSONError.Kind.allCases.map { .members(JSONError($0, offset: 0)) }
        reasons.append(.members(JSONError(.missingMember, offset: 0), expected: .transaction))
        for place in [PropertyListPlace.propertyList, .payload] {
            reasons += PropertyListError.Kind.allCases.map { .propertyList(PropertyListError($0, offset: 0), place) }
        }
        reasons += SignatureBlobFault.allCases.map { .signatureBlob($0, offset: 0) }
        for kind in [EvidenceKind.receipt, .jws, .transactionReceipt] {
            reasons += faults.filter { !$0.kind.isHostFault }.map { .signature($0, kind) }
            reasons += faults.filter { !$0.kind.isHostFault }.map { .chain($0, kind) }
        }
        reasons += DateFault.allCases.map { .date($0, offset: nil) }
        reasons += PolicyViolation.allCases.map { .policy($0, found: nil, expected: nil) }
        reasons += ConfigurationFault.allCases.map { .configuration($0, found: nil) }
        reasons += SignatureTrustError.Kind.allCases.filter(\.isHostFault).map { .host($0) }
        return reasons.map { VerificationError($0) }
    }
}
