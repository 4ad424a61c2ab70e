import AppStoreReceiptTesting
import CMSTrust
import SignatureTrust
import SpanASN1
import TestSupport
import Testing

/// Certificate policies (RFC 5280, 4.2.1.4 and 6.1). `scripts/pkits` tries NIST's suite.
@Suite struct CMSCertificatePolicyTests {
    private typealias Extension = CertificateSpecification.Extension

    /// An extension of the arc id-ce (2.5.29).
    private static func standard(_ arc: UInt8, isCritical: Bool = false, _ value: [UInt8]) -> Extension {
        Extension(ASN1ObjectIdentifier(content: [0x55, 0x1D, arc]), isCritical: isCritical, .bytes(value))
    }

    private static func identifier(_ last: UInt8) -> [UInt8] { [0x06, 3, 0x2A, 0x03, last] }
    private static func policies(_ values: [UInt8]...) -> Extension {
        standard(32, tlv(0x30, Array(values.map { tlv(0x30, $0) }.joined())))
    }
    /// 1.2.3.1 and 1.2.3.2.
    private static let (first, second) = (identifier(1), identifier(2))
    private static let any: [UInt8] = [0x06, 4, 0x55, 0x1D, 0x20, 0x00]
    private static let explicit = standard(36, isCritical: true, [0x30, 3, 0x80, 1, 0])
    private static let noAny = standard(54, isCritical: true, [0x02, 1, 0])
    private static let mapping = standard(33, isCritical: true, tlv(0x30, tlv(0x30, first + second)))

    /// The extensions of the intermediate and of the signer's certificate, the policies that are required, and whether
    /// the message is accepted.
    private static let rows: [(issuer: [Extension], signer: [Extension], required: [String], isAccepted: Bool)] = [
        ([], [], [], true),
        ([], [], ["1.2.3.1"], false),
        ([policies(first)], [policies(first)], [], true),
        ([policies(first)], [policies(first)], ["1.2.3.1"], true),
        ([policies(first)], [policies(first)], ["1.2.3.1", "1.2.3.2"], true),
        ([policies(first)], [policies(first)], ["1.2.3.2"], false),
        ([policies(first)], [policies(second)], [], true),
        ([policies(first), explicit], [policies(first)], [], true),
        ([policies(first), explicit], [policies(second)], [], false),
        ([policies(first), explicit], [], [], false),
        ([policies(any), explicit], [policies(any)], [], true),
        ([policies(any), explicit, noAny], [policies(any)], [], false),
        ([policies(first), mapping, explicit], [policies(second)], [], true),
        ([policies(first), mapping, explicit], [policies(second)], ["1.2.3.1"], true),
        ([policies(first), mapping, explicit], [policies(second)], ["1.2.3.2"], false),
        ([policies(first), mapping, explicit], [policies(first)], [], false),
    ]

    @Test(arguments: rows.indices)
    func `a chain is valid for a required policy, and as its constraints, mappings and inhibitions allow`(
        index: Int
    ) throws {
        let row = Self.rows[index]
        var shape = TestCertificateAuthority.Shape.ellipticCurve
        shape.intermediate.extensions += row.issuer
        shape.leaf.extensions += row.signer
        let authority = try TestCertificateAuthority(shape)
        var policy = try CMSMessages.policy(authority)
        policy.certificatePolicies = Set(try row.required.map { try #require(ASN1ObjectIdentifier($0)) })
        let refusal = try CMSMessages.refusal(CMSMessages.builder(authority).encoded(), policy)
        #expect(refusal?.code == (row.isAccepted ? nil : .untrustedChain))
    }
}
