import AppStoreReceipt
import AppStoreReceiptTesting
import Sampling
import SpanASN1
import SpanPKCS7
import TestSupport
import Testing

/// Every small change to a receipt, warm and cold. Refused receipts stay refused. A receipt that still verifies has the
/// same contents, because no signature covers the changed bytes.
@Suite(.tamperingTable) struct TamperingTests {
    /// The parts of a receipt that may be changed without a verifier's minding it.
    enum Region: String, CaseIterable {
        /// `SignedData.version`: it only says which fields may follow.
        case version
        /// `digestAlgorithms`: a forecast (RFC 5652, 5.1); which algorithm counts, the signer says.
        case digestAlgorithms
        /// The signer's `signatureAlgorithm`: bare `rsaEncryption`, or the algorithm that names the signer's digest,
        /// and nothing else.
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

    /// Changes are tried on a verifier that knows the chain and on one that has verified nothing.
    final class Verifiers {
        let warm: AppStoreVerifier
        let original: VerifiedReceipt
        private let authority: TestCertificateAuthority
        private var cold: AppStoreVerifier

        init(_ authority: TestCertificateAuthority, _ bytes: [UInt8]) throws {
            self.authority = authority
            warm = try Self.verifier(authority)
            original = try warm.verifyReceipt(bytes)
            cold = try Self.verifier(authority)
        }

        static func verifier(_ authority: TestCertificateAuthority) throws -> AppStoreVerifier {
            try AppStoreVerifier(
                policy: VerificationPolicy(bundleIDs: ["com.example.app"], environments: [.production]),
                trust: .roots([authority.trustAnchor]))
        }

        /// What became of a changed receipt: `nil` when it was refused. Cold and warm must agree, to the error's
        /// offset.
        ///
        /// - Parameter skipsUnreadable: leaves it at the one verdict for what is refused before anything is looked up:
        ///   by the input's form.
        func verify(
            _ bytes: [UInt8], skipsUnreadable: Bool = false, _ change: @autoclosure () -> String
        ) throws -> VerifiedReceipt? {
            var receipt: VerifiedReceipt?
            let time = try processorTime { receipt = try compare(bytes, skipsUnreadable, change()) }
            // Ten thousand times what it takes.
            if time > .seconds(5) { Issue.record("\(change()) takes too long") }
            return receipt
        }

        private func compare(
            _ bytes: [UInt8], _ skipsUnreadable: Bool, _ change: @autoclosure () -> String
        ) throws -> VerifiedReceipt? {
            let warm = Result { () throws(VerificationError) in try self.warm.verifyReceipt(bytes) }
            if skipsUnreadable, case .failure(let error) = warm, error.stage == .container { return nil }
            let verdict = Result { () throws(VerificationError) in try cold.verifyReceipt(bytes) }
            if warm != verdict { Issue.record("\(change()): warm \(warm), cold \(verdict)") }
            // What came as far as its chain may have left it behind.
            if case .success = verdict { cold = try Self.verifier(authority) }
            let isEarly = { (error: VerificationError) in [.input, .container, .signature].contains(error.stage) }
            if case .failure(let error) = verdict, !isEarly(error) { cold = try Self.verifier(authority) }
            return try? verdict.get()
        }
    }

    static func sample(_ change: (inout SignedDataBuilder) -> Void = { _ in }) throws -> (Sample, Verifiers) {
        let authority = try Minted.authority
        var builder = ReceiptBuilder(
            bundleID: "com.example.app", purchases: [.nonConsumable("com.example.pro", transactionID: "1")])
        builder.digest = .sha1
        builder.writesEmptyAttributes = false
        var signedData = try builder.signedData(by: authority)
        change(&signedData)
        let bytes = try signedData.encoded()
        return (try Sample(bytes), try Verifiers(authority, bytes))
    }

    @Test(arguments: Sampling.share(0..<8, of: "receipt-bits"))
    func `a flipped bit is refused, or lies outside all that is signed`(bit: Int) throws {
        let (sample, verifiers) = try Self.sample()
        var row = TamperingRow("receipt: each bit flipped")
        for offset in sample.bytes.indices {
            var bytes = sample.bytes
            bytes[offset] ^= 1 << bit
            row.count += 1
            guard let verified = try verifiers.verify(bytes, "bit \(bit) of byte \(offset)") else { continue }
            guard let region = sample.region(of: offset) else {
                Issue.record("bit \(bit) of byte \(offset) makes no difference")
                continue
            }
            #expect(verified == verifiers.original)
            row.harmless[region.rawValue, default: 0] += 1
        }
        row.record()
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
        var row = TamperingRow("signer with attributes: each bit flipped")
        for offset in message.signerSet.range {
            for bit in 0..<8 {
                var bytes = sample.bytes
                bytes[offset] ^= 1 << bit
                row.count += 1
                guard let verified = try verifiers.verify(bytes, "bit \(bit) of byte \(offset)") else { continue }
                #expect(
                    [.unsignedAttributes, .signatureAlgorithm].contains(sample.region(of: offset)),
                    "bit \(bit) of byte \(offset)")
                #expect(verified == verifiers.original)
                row.harmless[sample.region(of: offset)?.rawValue ?? "?", default: 0] += 1
            }
        }
        row.record()
    }

    @Test func `a truncated receipt is refused`() throws {
        let (sample, verifiers) = try Self.sample()
        for count in sample.bytes.indices {
            let verified = try verifiers.verify(Array(sample.bytes.prefix(count)), "\(count) bytes")
            #expect(verified == nil, "\(count) bytes of \(sample.bytes.count)")
        }
        TamperingRow("receipt: truncated after each byte", count: sample.bytes.count).record()
    }

    /// Before every element, after the last, and after every header; inside OCTET STRINGs and BIT STRINGs too.
    @Test(arguments: Sampling.share(0..<8, of: "receipt-insertions"))
    func `a byte inserted where elements begin or end is refused`(part: Int) throws {
        let (sample, verifiers) = try Self.sample()
        let boundaries = Self.boundaries(of: sample.bytes)
        let values = UInt8(part * 32)...UInt8(part * 32 + 31)
        var row = TamperingRow("receipt: each byte inserted at \(boundaries.count) boundaries of elements")
        for offset in boundaries {
            for value in values {
                var bytes = sample.bytes
                bytes.insert(value, at: offset)
                row.count += 1
                guard
                    let verified = try verifiers.verify(
                        bytes, skipsUnreadable: value % 16 != 0, "\(value) at \(offset)")
                else { continue }
                #expect(verified == verifiers.original)
                let region = sample.region(of: offset)
                #expect(region != nil, "\(value) at \(offset)")
                row.harmless[region?.rawValue ?? "?", default: 0] += 1
            }
        }
        row.record()
    }

    @Test func `a byte removed anywhere is refused`() throws {
        let (sample, verifiers) = try Self.sample()
        for offset in sample.bytes.indices {
            var bytes = sample.bytes
            bytes.remove(at: offset)
            #expect(try verifiers.verify(bytes, "byte \(offset) removed") == nil, "byte \(offset)")
        }
        TamperingRow("receipt: each byte removed", count: sample.bytes.count).record()
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
