import AppStoreReceipt
import AppStoreReceiptTesting
import CMSTrust
import FuzzSupport
import SignatureTrust
import SpanASN1
import SpanPKCS7

// Every element of a signed message. The lengths around it are corrected.

extension Place {
    static func messages() throws -> [Place] {
        let message = try SignedMessage()
        var places: [Place] = []
        for element in SignedMessage.elements(of: message.bytes, isOpaque: message.isOpaque) {
            places.append(
                Place("message \(element.label)", .derList, element.depth < 4 ? .all : .few, family: "messages") {
                    filling in
                    MessageSubject(SignedMessage.replacing(element.index, in: message.bytes, with: filling)).operations
                })
            places.append(
                Place("message \(element.label), many", .count) { filling in
                    let many = repeated(SignedMessage.encoded(element.index, in: message.bytes), like: filling)
                    return MessageSubject(SignedMessage.replacing(element.index, in: message.bytes, with: many))
                        .operations
                })
        }
        // Up to the maximum size of a certificate.
        let sizes = [900, 7200, 57_600]
        for element in SignedMessage.elements(of: message.certificate, isOpaque: { _ in false }) {
            places.append(
                Place(
                    "signer's certificate \(element.label)", .der(element.tag), element.isString ? .all : .few,
                    family: "certificates", sizes: sizes
                ) {
                    filling in
                    MessageSubject(try message.signed(replacing: element.index, with: filling)).operations
                })
            places.append(
                Place("signer's certificate \(element.label), many", .count, sizes: sizes) { filling in
                    let many = repeated(SignedMessage.encoded(element.index, in: message.certificate), like: filling)
                    return MessageSubject(try message.signed(replacing: element.index, with: many)).operations
                })
        }
        return places + signed(message)
    }

    private static func signed(_ message: SignedMessage) -> [Place] {
        func attributes(
            _ name: String, _ slot: Slot,
            _ change: @escaping (inout SignedDataBuilder.Signer, _ filling: [UInt8]) -> Void
        ) -> Place {
            Place("message, \(name)", slot, family: "signed messages") { filling in
                var builder = message.builder
                change(&builder.signers[0], filling)
                return MessageSubject(try builder.encoded()).operations
            }
        }
        let type = ASN1ObjectIdentifier(validating: [0x2A, 0x03]) ?? .data
        return [
            attributes("value of a signed attribute", .derList) {
                $0.signedAttributes = SignedDataBuilder.SignedAttribute.required + [.other(type, values: [$1])]
            },
            attributes("many signed attributes", .count) { signer, filling in
                signer.signedAttributes =
                    SignedDataBuilder.SignedAttribute.required
                    + Array(repeating: .other(type, values: []), count: filling.count / 8)
            },
            attributes("many values of a signed attribute", .count) { signer, filling in
                signer.signedAttributes =
                    SignedDataBuilder.SignedAttribute.required
                    + [.other(type, values: Array(repeating: [0x05, 0x00], count: filling.count / 2))]
            },
            attributes("many unsigned attributes", .count) { signer, filling in
                signer.unsignedAttributes = Array(
                    repeating: [0x30, 0x06, 0x06, 0x02, 0x2A, 0x03, 0x31, 0x00], count: filling.count / 8)
            },
            Place("message, its content in segments of one byte", .count) { filling in
                var builder = message.builder
                builder.content = SignedReceipt.encoded(
                    message.attributes + [.init(AttributeType(rawValue: 99), value: filling)])
                builder.encoding = .ber(segmentSize: 1)
                return MessageSubject(try builder.encoded()).operations
            },
        ]
    }
}

/// A message with all optional parts, and the keys that signed it.
private struct SignedMessage: Sendable {
    let builder: SignedDataBuilder
    let bytes: [UInt8]
    let attributes: [ReceiptAttribute]
    /// The signed part of the signer's certificate.
    let certificate: [UInt8]

    struct Element {
        let index: Int
        let depth: Int
        let label: String
        let tag: ASN1Tag
        var isString: Bool { [.utf8String, .printableString, .ia5String].contains(tag) }
    }

    init() throws {
        let authority = Signers.authorityOfReceipts
        let receipt = try UnverifiedReceipt(decoding: ReceiptBuilder(bundleID: "a").signed(by: authority))
        attributes = Array(receipt.attributes)
        var signer = SignedDataBuilder.Signer(authority.leaf)
        signer.signedAttributes =
            SignedDataBuilder.SignedAttribute.required + [.signingTime(ReceiptBuilder.defaultCreationDate)]
        signer.unsignedAttributes = [[0x30, 0x06, 0x06, 0x02, 0x2A, 0x03, 0x31, 0x00]]
        var builder = SignedDataBuilder(
            content: SignedReceipt.encoded(attributes), certificates: authority.certificates, signers: [signer])
        let date = ReceiptBuilder.defaultCreationDate
        let list = RevocationListSpecification(validity: date...date, entries: [.init(serialNumber: [7])])
        builder.revocationLists = [try list.issue(by: authority.intermediate)]
        self.builder = builder
        bytes = try builder.encoded()
        certificate = try TestCertificateAuthority.Shape().leaf.tbsCertificate(
            key: authority.leaf.key, issuer: authority.intermediate)
    }

    /// The parts of the content and of certificates have their own places.
    func isOpaque(_ encoded: [UInt8]) -> Bool {
        builder.certificates?.contains(encoded) == true
            || builder.content.map { encoded.suffix($0.count) == $0[...] } == true
                && encoded.first == 0x04
    }

    /// The message with another element in the certificate of its signer, which is signed again.
    func signed(replacing index: Int, with replacement: [UInt8]) throws -> [UInt8] {
        let authority = Signers.authorityOfReceipts
        let reissued = try CertificateSpecification.certificate(
            tbsCertificate: Self.replacing(index, in: certificate, with: replacement),
            algorithm: authority.intermediate.key.signatureAlgorithm(.sha256), digest: .sha256,
            key: authority.intermediate.key)
        var builder = builder
        builder.certificates = [reissued] + authority.certificates.dropFirst()
        builder.signers[0].identity = SigningIdentity(certificate: reissued, key: authority.leaf.key)
        // The original certificate, if this one cannot be read.
        if let message = try? builder.encoded() { return message }
        builder.signers[0].identity = authority.leaf
        return try builder.encoded()
    }

    // MARK: Elements

    static func elements(of bytes: [UInt8], isOpaque: ([UInt8]) -> Bool) -> [Element] {
        let editor = TLVEditor(bytes)
        var labels: [String] = []
        var childCounts: [Int] = []
        var opaque: Set<Int> = []
        var elements: [Element] = []
        for (index, element) in editor.elements.enumerated() {
            let position = element.parent < 0 ? 0 : childCounts[element.parent]
            if element.parent >= 0 { childCounts[element.parent] += 1 }
            childCounts.append(0)
            let path = element.parent < 0 ? "\(position)" : "\(labels[element.parent]).\(position)"
            labels.append(path)
            if opaque.contains(element.parent) {
                opaque.insert(index)
                continue
            }
            if isOpaque(Array(bytes[element.start..<element.end])) { opaque.insert(index) }
            let octet = bytes[element.start]
            let tag = ASN1Tag(
                ASN1Tag.Class(rawValue: octet >> 6) ?? .universal, UInt32(octet & 0x1F), constructed: octet & 0x20 != 0)
            elements.append(Element(index: index, depth: element.depth, label: "\(path) \(tag)", tag: tag))
        }
        return elements
    }

    static func encoded(_ index: Int, in bytes: [UInt8]) -> [UInt8] {
        let element = TLVEditor(bytes).elements[index]
        return Array(bytes[element.start..<element.end])
    }

    static func replacing(_ index: Int, in bytes: [UInt8], with replacement: [UInt8]) -> [UInt8] {
        var editor = TLVEditor(bytes)
        editor.replace(index, with: replacement)
        return editor.bytes
    }
}

extension Operation {
    static func message(_ bytes: [UInt8]) -> Operation {
        Operation("CMSVerifier") {
            Work(
                Result { () throws(CMSVerificationError) in
                    try Verifiers.messages.verify(bytes, at: ReceiptBuilder.defaultCreationDate)
                })
        }
    }
}

/// The operations on a signed message.
private final class MessageSubject {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var operations: [Operation] {
        [
            Operation("verifyReceipt") { [self] in
                Work(Result { () throws(VerificationError) in try Verifiers.lenient.verifyReceipt(bytes) })
            },
            Operation("verifyReceipt, by a new verifier") { [self] in
                Work(Result { () throws(VerificationError) in try Verifiers.make().verifyReceipt(bytes) })
            },
            .message(bytes),
            Operation("names, attributes and extensions") { [self] in
                var count = 0
                do {
                    try Self.read(bytes, &count)
                    return Work("read", count)
                } catch {
                    return Work("\((error as? ASN1DecodingError)?.kind.rawValue ?? "refused")", count)
                }
            },
            Operation("ASN1Walker") { [self] in
                let limits = ASN1Limits(maximumDepth: .max, maximumElementCount: .max, maximumByteCount: .max)
                let bytes = bytes
                var walker = ASN1Walker(bytes.span, rules: .ber, limits: limits)
                var count = 0
                while let element = try? walker.next() { count += element.depth }
                return Work("\(count > 0 ? "walked" : "refused")", count)
            },
        ]
    }

    /// Reads all parts, until one cannot be read.
    private static func read(_ received: [UInt8], _ count: inout Int) throws {
        let der = try ReceivedMessage(received).der
        let message = try SignedData(ContentInfo(der.span))
        count += Work.size(try message.contentType.objectIdentifier().description)
        var certificates = message.certificates
        while let certificate = try certificates.next() {
            // If one part cannot be read, the others may be readable.
            count += (try? certificate.subject.distinguishedName()).map { Work.size($0) } ?? 0
            count += (try? certificate.issuer.distinguishedName()).map { Work.size($0) } ?? 0
            count += certificate.isSelfIssued ? 1 : 0
            count += (try? certificate.basicConstraints()) == nil ? 0 : 1
            count += (try? certificate.keyUsage()) == nil ? 0 : 1
            count += (try? certificate.hasPurpose(.data)) == true ? 1 : 0
            count += (try? certificate.validity()) == nil ? 0 : 1
            count += (try? certificate.subjectPublicKeyInfo.rsaPublicKey())?.modulusBitCount ?? 0
            var extensions = certificate.extensions
            while let next = try? extensions.next() {
                count += (try? next.id.objectIdentifier()).map { Work.size($0.description) } ?? 0
            }
        }
        var infos = message.revocationInfos
        while let info = try infos.next() {
            guard let list = try info.revocationList() else { continue }
            count += Work.size(try list.issuer.distinguishedName())
            var entries = list.entries
            while let entry = try entries.next() { count += entry.serialNumber.contentCount }
        }
        var signers = message.signerInfos
        while let signer = try signers.next() {
            count += Work.size(try signer.digestAlgorithm.algorithm.objectIdentifier().description)
            if let attributes = signer.signedAttributes { try read(attributes, &count) }
            if let attributes = signer.unsignedAttributes { try read(attributes, &count) }
        }
    }

    private static func read(_ set: AttributeSet, _ count: inout Int) throws {
        count += (try? set.signingTime()) == nil ? 0 : 1
        var attributes = set.attributes
        while let attribute = try attributes.next() {
            count += Work.size(try attribute.type.objectIdentifier().description)
        }
    }
}
