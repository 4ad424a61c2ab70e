import AppStoreReceipt
import AppStoreReceiptTesting
import SpanASN1
import SpanPKCS7
import Testing

/// Every small change to a receipt, warm and cold. What is refused stays refused, and what is still verified says the same, because the
/// changed bytes are none that a signature covers.
@Suite struct TamperingTests {
    /// The parts of a receipt that may be changed without a verifier's minding it.
    enum Region: String, CaseIterable {
        /// `SignedData.version`: it only says which fields may follow.
        case version
        /// `digestAlgorithms`: a forecast (RFC 5652, 5.1); which algorithm counts, the signer says.
        case digestAlgorithms
        /// The signer's `signatureAlgorithm`: bare `rsaEncryption`, or the algorithm that names the signer's digest, and nothing else.
        case signatureAlgorithm
        /// The root that the receipt brings: never looked at, since the pinned one is used.
        case embeddedRoot = "embedded root"
        /// `unsignedAttrs` of the signer.
        case unsignedAttributes = "unsigned attributes"
    }

    /// A receipt, and where its regions are.
    struct Sample {
        let bytes: [UInt8]
        let regions: [(region: Region, range: Range<Int>)]

        init(_ bytes: [UInt8]) throws {
            self.bytes = bytes
            let contentInfo = try ContentInfo(bytes.span)
            let message = try SignedData(contentInfo)
            var regions: [(Region, Range<Int>)] = []
            guard let signedData = contentInfo.content else { throw ASN1DecodingError(.missingElement, offset: 0) }
            var fields = signedData.contents
            regions.append((.version, try fields.read().contentRange))
            regions.append((.digestAlgorithms, try fields.read(.set).contentRange))
            var certificates = message.certificates
            while let certificate = try certificates.next() {
                if certificate.isSelfIssued { regions.append((.embeddedRoot, certificate.element.range)) }
            }
            var signers = message.signerInfos
            while let signer = try signers.next() {
                regions.append((.signatureAlgorithm, signer.signatureAlgorithm.element.range))
                if let attributes = signer.unsignedAttributes {
                    regions.append((.unsignedAttributes, attributes.element.range))
                }
            }
            self.regions = regions
        }

        func region(of offset: Int) -> Region? { regions.first { $0.range.contains(offset) }?.region }
    }

    /// Changes are tried on a verifier that knows the chain and on one that has seen nothing.
    struct Verifiers {
        let warm: ReceiptVerifier
        let original: VerifiedReceipt
        private let authority: TestCertificateAuthority

        init(_ authority: TestCertificateAuthority, _ bytes: [UInt8]) throws {
            self.authority = authority
            warm = try Self.verifier(authority)
            original = try warm.verify(binary: bytes)
        }

        static func verifier(_ authority: TestCertificateAuthority) throws -> ReceiptVerifier {
            try ReceiptVerifier(
                policy: ReceiptPolicy(bundleIDs: ["com.example.app"], environments: [.production]),
                trust: .roots([authority.trustAnchor]))
        }

        /// What became of a changed receipt: `nil` when it was refused. Cold and warm must agree, to the error's offset.
        func verify(_ bytes: [UInt8], _ change: @autoclosure () -> String) throws -> VerifiedReceipt? {
            let start = ContinuousClock.now
            let warm = Result { () throws(ReceiptError) in try self.warm.verify(binary: bytes) }
            let cold = try Self.verifier(authority)
            let verdict = Result { () throws(ReceiptError) in try cold.verify(binary: bytes) }
            if warm != verdict { Issue.record("\(change()): warm \(warm), cold \(verdict)") }
            // Thousands of times what it takes.
            if ContinuousClock.now - start > .seconds(5) { Issue.record("\(change()) takes too long") }
            return try? verdict.get()
        }
    }

    static let authority = Result { () throws(MintingError) in try TestCertificateAuthority() }

    static func sample(_ change: (inout SignedDataBuilder) -> Void = { _ in }) throws -> (Sample, Verifiers) {
        let authority = try authority.get()
        var builder = ReceiptBuilder(
            bundleID: "com.example.app", purchases: [.nonConsumable("com.example.pro", transactionID: "1")])
        builder.digest = .sha1
        builder.writesEmptyAttributes = false
        var signedData = try builder.signedData(by: authority)
        change(&signedData)
        let bytes = try signedData.encoded()
        return (try Sample(bytes), try Verifiers(authority, bytes))
    }

    @Test(arguments: 0..<8)
    func `a flipped bit is refused, or lies outside all that is signed`(bit: Int) throws {
        let (sample, verifiers) = try Self.sample()
        var harmless: [Region: Int] = [:]
        for offset in sample.bytes.indices {
            var bytes = sample.bytes
            bytes[offset] ^= 1 << bit
            guard let verified = try verifiers.verify(bytes, "bit \(bit) of byte \(offset)") else { continue }
            guard let region = sample.region(of: offset) else {
                Issue.record("bit \(bit) of byte \(offset) makes no difference")
                continue
            }
            #expect(verified == verifiers.original)
            harmless[region, default: 0] += 1
        }
        let counts = harmless.map { "\($0.key.rawValue) \($0.value)" }.sorted().joined(separator: ", ")
        print("bit \(bit): \(sample.bytes.count) flips, verified all the same: \(counts)")
    }

    @Test func `a flipped bit of unsigned attributes makes no difference, and none of the signed ones passes`() throws {
        let (sample, verifiers) = try Self.sample { builder in
            builder.signers[0].signedAttributes = SignedDataBuilder.SignedAttribute.required
            // 1.2.3 with one INTEGER
            builder.signers[0].unsignedAttributes = [
                [0x30, 0x09, 0x06, 0x02, 0x2A, 0x03, 0x31, 0x03, 0x02, 0x01, 0x05]
            ]
        }
        let message = try SignedData(ContentInfo(sample.bytes.span))
        for offset in message.signerSet.range {
            for bit in 0..<8 {
                var bytes = sample.bytes
                bytes[offset] ^= 1 << bit
                guard let verified = try verifiers.verify(bytes, "bit \(bit) of byte \(offset)") else { continue }
                #expect(
                    [.unsignedAttributes, .signatureAlgorithm].contains(sample.region(of: offset)),
                    "bit \(bit) of byte \(offset)")
                #expect(verified == verifiers.original)
            }
        }
    }

    @Test func `a truncated receipt is refused`() throws {
        let (sample, verifiers) = try Self.sample()
        for count in sample.bytes.indices {
            let verified = try verifiers.verify(Array(sample.bytes.prefix(count)), "\(count) bytes")
            #expect(verified == nil, "\(count) bytes of \(sample.bytes.count)")
        }
        print("\(sample.bytes.count) truncations, all refused")
    }

    /// Before every element, after the last, and after every header; inside OCTET STRINGs and BIT STRINGs too.
    @Test func `a byte inserted where elements begin or end is refused`() throws {
        let (sample, verifiers) = try Self.sample()
        let boundaries = Self.boundaries(of: sample.bytes)
        var count = 0
        for offset in boundaries {
            let neighbours = [
                offset > 0 ? sample.bytes[offset - 1] : 0, offset < sample.bytes.count ? sample.bytes[offset] : 0,
            ]
            for value in Set([0x00, 0x01, 0x02, 0x04, 0x05, 0x30, 0x31, 0x7F, 0x80, 0xA0, 0xFF] + neighbours) {
                var bytes = sample.bytes
                bytes.insert(value, at: offset)
                count += 1
                guard let verified = try verifiers.verify(bytes, "\(value) at \(offset)") else { continue }
                #expect(sample.region(of: offset) != nil, "\(value) at \(offset)")
                #expect(verified == verifiers.original)
            }
        }
        print("\(count) insertions at \(boundaries.count) boundaries")
    }

    @Test func `a byte removed anywhere is refused`() throws {
        let (sample, verifiers) = try Self.sample()
        for offset in sample.bytes.indices {
            var bytes = sample.bytes
            bytes.remove(at: offset)
            #expect(try verifiers.verify(bytes, "byte \(offset) removed") == nil, "byte \(offset)")
        }
    }

    private static func boundaries(of bytes: [UInt8]) -> [Int] {
        var offsets: Set<Int> = [bytes.count]
        func add(_ range: Range<Int>, depth: Int) {
            var walker = ASN1Walker(bytes.span.extracting(range), baseOffset: range.lowerBound)
            while let element = try? walker.next() {
                offsets.formUnion([element.offset, element.contentOffset])
                guard let content = element.contentRange else { continue }
                offsets.insert(content.upperBound)
                if element.tag == .octetString, depth < 3 { add(content, depth: depth + 1) }
                if element.tag == .bitString, depth < 3 { add(content.dropFirst(), depth: depth + 1) }
            }
        }
        add(bytes.startIndex..<bytes.endIndex, depth: 0)
        return offsets.sorted()
    }
}
