import AppStoreReceipt
import AppStoreReceiptTesting
import FuzzSupport
import StrictText

// The command, in a new process each time.

extension Place {
    /// - Parameter program: the path of `receipt`.
    static func commands(_ program: String) throws -> [Place] {
        let commands = try Commands(program)
        return commands.receipts + commands.transactions + commands.texts + commands.specifications + [
            commands.slowInput
        ]
    }
}

private struct Commands {
    let program: String
    let folder: TemporaryFolder
    let authority: TestCertificateAuthority
    let signers: TestCertificateAuthority
    /// Options that name the roots.
    let root, signersRoot: String
    let receipt: SignedReceipt
    let base64: String

    init(_ program: String) throws {
        self.program = program
        let folder = try TemporaryFolder()
        self.folder = folder
        authority = try TestCertificateAuthority()
        signers = try TestCertificateAuthority(.ellipticCurve)
        for file in try authority.files() { _ = try folder.write(file.contents, file.name) }
        root = "--root=" + folder.path("root.der")
        signersRoot = "--root=" + (try folder.write(signers.root.certificate, "signers.der"))
        receipt = try SignedReceipt()
        let minted = try ReceiptBuilder(bundleID: "a").signed(by: authority)
        base64 = Base64.encode(minted.span)
    }

    /// - Parameter commands: with `%` for the file.
    private func place(
        _ name: String, _ slot: Slot, _ commands: [[String]],
        _ make: @escaping (_ filling: [UInt8]) throws -> [UInt8]
    ) -> Place {
        let (program, folder) = (program, folder)
        return Place("command: \(name)", slot, .some, family: "commands") { filling in
            let file = try TemporaryFile(folder, make(filling))
            return commands.map { words in
                // Paths are not useful in the table.
                let name = words.filter { $0 != "%" && !$0.contains("/") }.joined(separator: " ")
                let words = words.map { $0 == "%" ? file.path : $0 }
                return Operation(
                    "receipt " + name,
                    process: { [file] in
                        withExtendedLifetime(file) { ChildProcess.run(program, words) }
                    })
            }
        }
    }

    private var decoding: [[String]] {
        [["decode", "%"], ["decode", "--format", "json", "%"], ["decode", "--format", "attributes", "%"]]
    }

    private var verifying: [[String]] {
        [
            ["verify", root, "%"], ["verify", root, "--format", "json", "%"],
            ["verify", root, "--format", "verify-receipt", "%"],
            ["entitlements", root, "%"], ["entitlements", root, "--format", "json", "%"],
            ["report", root, "--out", "/dev/null", "%"],
        ]
    }

    private var structure: [[String]] {
        [["asn1", "%"], ["cms", root, "%"], ["cms", root, "--format", "json", "%"]]
    }

    var receipts: [Place] {
        let (receipt, authority) = (receipt, authority)
        return [
            place("texts of a receipt", .text, verifying + decoding + structure) { filling in
                let share = Array(filling.prefix(filling.count / 4 + 1))
                let types: [AttributeType] = [
                    .bundleID, .applicationVersion, .inAppPurchase, AttributeType(rawValue: 99),
                ]
                return try SignedReceipt.signed(receipt.attributes(replacing: types, with: share), by: authority)
            },
            place("type of a receipt", .text, verifying + decoding) { filling in
                try SignedReceipt.signed(receipt.attributes(replacing: [.receiptType], with: filling), by: authority)
            },
            place("names in a certificate", .text, structure) { filling in
                try SignedReceipt.message(naming: filling, by: authority)
            },
            place("any element", .derList, decoding + structure) { $0 },
        ]
    }

    var transactions: [Place] {
        let signers = signers
        let commands = [
            ["verify", signersRoot, "%"], ["verify", signersRoot, "--format", "json", "%"],
            ["entitlements", signersRoot, "%"], ["entitlements", signersRoot, "--format", "json", "%"],
            ["batch", signersRoot, "%"], ["batch", "--brief", signersRoot, "%"], ["decode", "%"],
            ["decode", "--format", "json", "%"], ["asn1", "%"],
        ]
        return [
            place("a member of a transaction", .jsonValue, commands) { filling in
                try SignedReceipt.transaction("\"productId\":", filling, by: signers)
            },
            place("a name in a transaction", .jsonString, commands) { filling in
                try SignedReceipt.transaction("\"", filling + Array("\":0".utf8), by: signers)
            },
            place("members of a transaction", .jsonMembers, commands) { filling in
                try SignedReceipt.transaction("", filling + Array("\"x\":0".utf8), by: signers)
            },
        ]
    }

    var texts: [Place] {
        let end = Array("\"receipt-data\":\"\(base64)\"}\n".utf8)
        let batch = ["batch", root, "%"]
        return [
            place("a line, a member beside the receipt", .jsonValue, [batch]) { filling in
                Array("{\"x\":".utf8) + filling + Array(",".utf8) + end
            },
            place("a line, a name beside the receipt", .jsonString, [batch]) { filling in
                Array("{\"".utf8) + filling + Array("\":0,".utf8) + end
            },
            place("a line, members beside the receipt", .jsonMembers, [batch]) { filling in
                Array("{".utf8) + filling + end
            },
            place("any text", .text, [verifying[0], decoding[0], batch, structure[0]]) { $0 },
            place("a PEM label", .text, [verifying[0], structure[0], structure[1]]) { filling in
                Array("-----BEGIN ".utf8) + filling + Array("-----\nMAA=\n-----END ".utf8) + filling
                    + Array("-----\n".utf8)
            },
        ]
    }

    /// From a pipe, byte by byte.
    var slowInput: Place {
        let program = program
        return Place("command: standard input, byte by byte", .count) { filling in
            [["decode", "-"], ["asn1", "-"], ["batch", root, "-"]].map { words in
                Operation(
                    "receipt \(words[0])",
                    process: {
                        ChildProcess.run(
                            program, words, input: [UInt8](repeating: UInt8(ascii: "M"), count: filling.count))
                    })
            }
        }
    }

    var specifications: [Place] {
        let mint = [["mint", "--ca", folder.path("."), "--out", "/dev/null", "%"]]
        func list(_ name: String, _ before: String, _ unit: String, _ after: String) -> Place {
            place("a specification's \(name)", .count, mint) { filling in
                let count = filling.count / unit.utf8.count + 1
                return Array("{\(before)\(String(repeating: unit + ",", count: count))\(unit)\(after)}".utf8)
            }
        }
        return [
            place("a specification's value", .jsonValue, mint) { filling in
                Array("{\"bundle_id\":".utf8) + filling + Array("}".utf8)
            },
            place("a specification's key", .jsonString, mint) { filling in
                Array("{\"".utf8) + filling + Array("\":0}".utf8)
            },
            place("keys beside a specification", .jsonMembers, mint) { filling in
                Array("{".utf8) + filling + Array("\"receipt\":{\"bundle_id\":\"a\"}}".utf8)
            },
            place("a specification's octets", .count, mint) { filling in
                Array("{\"opaque_value\":\"\(String(repeating: "0A", count: filling.count / 2))\"}".utf8)
            },
            list("purchases", "\"in_app\":[", "{\"product_id\":\"a\"}", "]"),
            list("unknown attributes", "\"unknown_attributes\":[", "{\"type\":99,\"value\":\"\"}", "]"),
        ]
    }
}

extension SignedReceipt {
    /// The attributes with a text in place of some: a purchase has it in all of its texts. They differ at their start,
    /// but comparing them as Swift strings would normalize them.
    fileprivate func attributes(replacing types: [AttributeType], with text: [UInt8]) -> [ReceiptAttribute] {
        let texts: [AttributeType] = [.productID, .transactionID, .originalTransactionID, .promotionalOfferID]
        let purchase = purchase.map { attribute in
            guard texts.contains(attribute.type) else { return attribute }
            let beginning = UInt8(truncatingIfNeeded: 0x61 + attribute.type.rawValue & 15)
            return ReceiptAttribute(attribute.type, value: element(.utf8String, [beginning] + text))
        }
        return attributes.map { attribute in
            guard types.contains(attribute.type) else { return attribute }
            return .init(
                attribute.type,
                value: attribute.type == .inAppPurchase ? Self.encoded(purchase) : element(.utf8String, text))
        }
    }

    /// A message whose only certificate has a text in its subject, and the same with another beginning in its issuer.
    /// It has no valid signature.
    fileprivate static func message(naming text: [UInt8], by authority: TestCertificateAuthority) throws -> [UInt8] {
        let names = ["SUBJECT", "ISSUER"]
        var specification = TestCertificateAuthority.Shape().leaf
        specification.subject = DistinguishedName(.commonName(names[0]))
        specification.issuer = DistinguishedName(.commonName(names[1]))
        let certificate = try specification.issue(key: authority.leaf.key).certificate
        var editor = TLVEditor(try SignedDataBuilder(content: [], certificates: [certificate], signers: []).encoded())
        for (name, text) in zip(names, [text, [UInt8(ascii: "b")] + text]) {
            let name = element(.utf8String, Array(name.utf8))
            let place = editor.elements.firstIndex { editor.bytes[$0.start..<$0.end] == name[...] }
            if let place { editor.replace(place, with: element(.utf8String, text)) }
        }
        return editor.bytes
    }

    fileprivate static func transaction(
        _ before: String, _ filling: [UInt8], by authority: TestCertificateAuthority
    ) throws -> [UInt8] {
        var builder = JWSBuilder.transaction(bundleID: "a", productID: "pro", transactionID: "1")
        builder.payload["productId"] = nil
        let payload = Array("{\(before)".utf8) + filling + Array(",".utf8) + builder.payload.bytes.dropFirst()
        let head = builder.signingInput(certificates: authority.certificates).utf8.prefix { $0 != UInt8(ascii: ".") }
        let input = Array(head) + Array(".\(JWSBuilder.base64URL(payload))".utf8)
        let signature = try JWSBuilder.signature(of: input, key: authority.leaf.key)
        return input + Array(".\(JWSBuilder.base64URL(signature))\n".utf8)
    }
}
