import SpanASN1
import SpanPKCS7
import Testing

@Suite struct AttributeSetTests {
    private func signedAttributes<Result>(
        _ damage: [Damage], _ body: (AttributeSet) throws -> Result
    ) throws -> Result? {
        let node = damage.reduce(Node.message) { $0.changed($1) }
        let bytes = node.encoded().bytes
        let message = try SignedData(ContentInfo(bytes.span))
        var signers = message.signerInfos
        guard let signer = try signers.next(), let attributes = signer.signedAttributes else { return nil }
        return try body(attributes)
    }

    @Test func `attributes are given in the order received`() throws {
        let types = try signedAttributes([]) { set in
            var attributes = set.attributes
            var types: [String] = []
            while let attribute = try attributes.next() {
                types.append(try attribute.type.objectIdentifier().description)
            }
            return types
        }
        #expect(types == ["1.2.840.113549.1.9.3", "1.2.840.113549.1.9.4"])
    }

    @Test func `a single value is found, or absent`() throws {
        let isData = try signedAttributes([]) { try $0.singleValue(of: .contentType)?.matches(.data) }
        #expect(isData == true)
        let isAbsent = try signedAttributes([]) { try $0.singleValue(of: .signingTime) == nil }
        #expect(isAbsent == true)
    }

    /// PITFALLS 7: with two message digests, neither the first nor the last counts.
    @Test(arguments: [
        (Damage.double("s.hash"), ASN1DecodingError.Kind.duplicateElement),
        (.double("s.hash.value"), .duplicateElement),
        (.remove("s.hash.value"), .missingElement), (.content("s.type.type", "80"), .invalidObjectIdentifier),
    ])
    func `an attribute with no value or two, or there twice, has no single value`(
        row: (Damage, ASN1DecodingError.Kind)
    ) throws {
        let kind = try signedAttributes([row.0]) { set in
            failure { () throws(ASN1DecodingError) in _ = try set.singleValue(of: .messageDigest) }?.kind
        }
        #expect(kind == row.1)
    }

    @Test func `a missing value is reported at the attribute's set of values`() throws {
        let damage = Damage.remove("s.hash.value")
        let bytes = Node.message.changed(damage).encoded().bytes
        let error = try signedAttributes([damage]) { set in
            failure { () throws(ASN1DecodingError) in _ = try set.singleValue(of: .messageDigest) }
        }
        #expect(error??.kind == .missingElement)
        #expect(error??.offset == bytes.indices.last { bytes[$0...].starts(with: [0x31, 0x00]) })
    }
}
