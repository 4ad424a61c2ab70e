import AppStoreReceipt
import AppStoreReceiptTesting
import CMSTrust
import Foundation
import Sampling
import SignatureTrust
import SpanASN1
import SpanPKCS7
import TestSupport
import Testing

/// What is larger than allowed is refused before it is read, at every entry point.
@Suite(.serialized) struct LimitsTests {
    // MARK: Sizes

    /// What would be dear to read; each valid UTF-8.
    private static let fillings = [
        "\0", " ", "\n", "A", "=", ".", "e30.", "[", "{\"a\":", "\"", "\"a\":0,", "\\u0041", "\u{301}\u{316}", "-",
    ].map { Array($0.utf8) }

    /// So many bytes that begin as an input does, so that they are taken for the same form, and go on with something
    /// else.
    private func filled(_ input: [UInt8], with filling: [UInt8], count: Int) -> [UInt8] {
        let start = input.prefix { $0 == 0x0A || $0 == 0x20 }.count + 5
        var filler = filling
        while filler.count < count { filler += filler }
        let fillingCount = (count - start) / filling.count * filling.count
        let rest = [UInt8](repeating: 0x41, count: count - start - fillingCount)
        return input.prefix(start) + filler.prefix(fillingCount) + rest
    }

    @Test func `an input as large as allowed is accepted, and of one byte more nothing counts but its size`()
        async throws
    {
        for entryPoint in try EntryPoint.all.get() {
            let limit = entryPoint.input.count
            #expect(await entryPoint.refusal(of: entryPoint.input) == nil, "\(entryPoint)")
            let tooLarge = Refusal(code: "input-too-large", offset: limit)
            #expect(await entryPoint.refusal(of: entryPoint.input + [0x0A]) == tooLarge, "\(entryPoint)")
            let fillings = Self.fillings + (entryPoint.takesString ? [] : [[0x30, 0x80], [0xFF]])
            for filling in fillings {
                let input = filled(entryPoint.input, with: filling, count: limit + 1)
                #expect(await entryPoint.refusal(of: input) == tooLarge, "\(entryPoint): \(filling)")
            }
        }
    }

    /// Nothing is read, decoded or copied: of 8 MB that would take hundreds of times as long as to refuse one byte too
    /// many.
    @Test func `what is too large costs the same, however large it is`() async throws {
        let clock = ContinuousClock()
        func time(_ call: @Sendable () async -> Refusal?) async -> Duration {
            let start = clock.now
            #expect(await call()?.code == "input-too-large")
            return clock.now - start
        }
        for filling in [" ", "A", "e30."].map({ Array($0.utf8) }) {
            var input: [UInt8] = []
            for entryPoint in try EntryPoint.all.get() {
                let start = entryPoint.input.prefix(5)
                if input.prefix(5) != start {
                    input = filled(start + [0], with: filling, count: Sampling.count("oversized-bytes"))
                }
                let calls = (entryPoint.call(entryPoint.input + [0x0A]), entryPoint.call(input))
                var (small, large) = (Duration.seconds(1), Duration.seconds(1))
                // In turn, so that the tests beside this one hold up both; more often if one was held up each time.
                for round in 0..<200 where round < 20 || large >= small * 100 {
                    // After a call that reads 8 MB, the caches are cold, and the small one would take longer, too.
                    _ = await time(calls.0)
                    (small, large) = (min(small, await time(calls.0)), min(large, await time(calls.1)))
                }
                #expect(large < small * 100, "\(entryPoint): \(filling)")
            }
        }
    }

    /// Every declaration that takes what strangers send, by the listings of the public API.
    @Test func `no entry point is forgotten`() throws {
        let rows = Set(try EntryPoint.all.get().map(\.declaration))
        // These have limits that a caller cannot set, and a test of their own; or no bytes of a stranger.
        let others = ["init(from decoder: any Decoder)", "func verify(_ message: SignedData"]
        var found = 0
        for module in ["AppStoreReceipt", "AppStoreReceiptFoundation"] {
            for line in try Project.lines(of: "Tests/PublicAPI/\(module).txt") {
                let declaration = line.drop { $0 == " " }
                let starts = ["func verify", "func answer", "init(decoding", "init(from"]
                guard starts.contains(where: declaration.hasPrefix) else { continue }
                found += 1
                #expect(
                    rows.contains { declaration.hasPrefix($0) } || others.contains { declaration.hasPrefix($0) },
                    "\(line)")
            }
        }
        #expect(found > rows.count / 2)
    }

    // MARK: Counts

    /// A limit of a number, what has exactly so many, and how that is refused where less is allowed.
    private struct CountLimit {
        let name: String
        let count: Int
        let code: String
        let refusal: (_ limit: Int) throws -> String?
    }

    private func countLimits() throws -> [CountLimit] {
        let authority = try Minted.authority
        let receipt = try ReceiptBuilder(
            bundleID: "com.example.app",
            purchases: (1...4).map { .consumable("coins", transactionID: "\($0)") }
        ).signed(by: authority)
        func receiptLimit(_ name: String, _ count: Int, _ limit: WritableKeyPath<VerificationLimits, Int>) -> CountLimit
        {
            CountLimit(name: name, count: count, code: "too-many-elements") { value in
                var policy = VerificationPolicy(bundleIDs: nil, environments: [.production])
                policy.limits[keyPath: limit] = value
                let verifier = try AppStoreVerifier(policy: policy, trust: .roots([authority.trustAnchor]))
                do throws(VerificationError) {
                    _ = try verifier.verifyReceipt(receipt)
                    return nil
                } catch {
                    return error.code.rawValue
                }
            }
        }

        var builder = SignedDataBuilder(content: [1], certificates: authority.certificates, signers: [])
        builder.signers = [SignatureDigest.sha256, .sha384].map { .init(authority.leaf, digest: $0) }
        builder.signers[0].unsignedAttributes = (1...3).map {
            [0x30, 0x08, 0x06, 0x02, 0x2A, $0, 0x31, 0x02, 0x05, 0x00]
        }
        let message = try builder.encoded()
        func messageLimit(
            _ name: String, _ count: Int, _ limit: WritableKeyPath<CMSLimits, Int>, _ code: String = "too-many-elements"
        ) -> CountLimit {
            CountLimit(name: name, count: count, code: code) { value in
                var policy = CMSPolicy(anchors: [try authority.trustAnchor])
                policy.limits[keyPath: limit] = value
                let verifier = try CMSVerifier(policy: policy)
                do throws(CMSVerificationError) {
                    _ = try verifier.verify(message, at: Instant(millisecondsSince1970: 1_780_000_000_000))
                    return nil
                } catch {
                    return error.code.rawValue
                }
            }
        }

        // Two elements in which others are, of three levels; six elements with the marks of their ends.
        let nested: [UInt8] = [0x30, 0x80, 0x30, 0x80, 0x05, 0x00, 0x05, 0x00, 0x00, 0x00, 0x00, 0x00]
        func walking(_ limits: ASN1Limits) -> String? {
            do throws(ASN1DecodingError) {
                var walker = ASN1Walker(nested.span, rules: .ber, limits: limits)
                while try walker.next() != nil {}
                return nil
            } catch {
                return error.kind.rawValue
            }
        }
        func normalizing(_ gate: BERGate) -> String? {
            do throws(ASN1DecodingError) {
                _ = try gate.normalize(nested.span)
                return nil
            } catch {
                return error.kind.rawValue
            }
        }
        return [
            receiptLimit("certificates in a receipt", 3, \.maximumCertificateCount),
            receiptLimit("purchases in a receipt", 4, \.maximumPurchaseCount),
            messageLimit("signers of a message", 2, \.maximumSignerCount),
            messageLimit("certificates in a message", 3, \.maximumCertificateCount),
            messageLimit("attributes of a signer", 3, \.maximumAttributeCount, "too-many-attributes"),
            messageLimit("intermediates in a chain", 1, \.maximumIntermediateCount, "invalid-chain-length"),
            CountLimit(name: "levels walked", count: 3, code: "nesting-too-deep") {
                walking(ASN1Limits(maximumDepth: $0))
            },
            CountLimit(name: "elements walked", count: 6, code: "too-many-elements") {
                walking(ASN1Limits(maximumElementCount: $0))
            },
            CountLimit(name: "levels of BER", count: 2, code: "nesting-too-deep") {
                normalizing(BERGate(maximumDepth: $0))
            },
            CountLimit(name: "elements of BER", count: 2, code: "too-many-elements") {
                normalizing(BERGate(maximumElementCount: $0))
            },
        ]
    }

    @Test func `as many as allowed are accepted, and one more is refused`() throws {
        for limit in try countLimits() {
            #expect(try limit.refusal(limit.count) == nil, "\(limit.name)")
            #expect(try limit.refusal(limit.count - 1) == limit.code, "\(limit.name)")
        }
    }

    @Test func `the default numbers are those documented`() {
        let receipt = VerificationLimits()
        #expect(receipt.maximumCertificateCount == 16 && receipt.maximumPurchaseCount == 1_000_000)
        let message = CMSLimits()
        #expect(message.maximumSignerCount == 16 && message.maximumCertificateCount == 64)
        #expect(message.maximumRevocationInfoCount == 64 && message.maximumAttributeCount == 64)
        #expect(message.maximumIntermediateCount == 8)
        #expect(
            ASN1Limits() == ASN1Limits(maximumDepth: 64, maximumElementCount: 10_000_000, maximumByteCount: 1 << 26))
        #expect(BERGate().maximumDepth == 32 && BERGate().maximumElementCount == 4096)
    }

    // MARK: The defaults

    @Test func `the defaults are 64 MiB for receipts and messages, and 1 MiB for a JWS`() throws {
        func codeAndOffset(_ error: VerificationError?) -> Refusal? {
            error.map { Refusal(code: $0.code.rawValue, offset: $0.offset) }
        }
        let binaryLimit = 67_108_864
        let textLimit = 134_283_264
        let verifier = try AppStoreVerifier(bundleID: "com.example.app", environments: [.production])
        var input = [UInt8](repeating: 0x41, count: textLimit + 1)
        let text = #expect(throws: VerificationError.self) { try verifier.verifyReceipt(input) }
        #expect(codeAndOffset(text) == Refusal(code: "input-too-large", offset: textLimit))
        let object = #expect(throws: VerificationError.self) { try verifier.verify(input) }
        #expect(object == .input(InputError(.inputTooLarge, armor: nil, offset: textLimit)))
        input.removeLast(textLimit - binaryLimit)
        input.replaceSubrange(0..<2, with: [0x30, 0x84])
        let binary = #expect(throws: VerificationError.self) { try verifier.verifyReceipt(input) }
        #expect(codeAndOffset(binary) == Refusal(code: "input-too-large", offset: binaryLimit))
        let cms = try CMSVerifier(policy: CMSPolicy(anchors: [.appleRootCA]))
        #expect(throws: CMSVerificationError.structure(ASN1DecodingError(.inputTooLarge, offset: binaryLimit))) {
            try cms.verify(input, atSigningTimesUntil: .now)
        }
        let walked = #expect(throws: ASN1DecodingError.self) {
            var walker = ASN1Walker(input.span)
            _ = try walker.next()
        }
        #expect(walked == ASN1DecodingError(.inputTooLarge, offset: binaryLimit))
        let jws = #expect(throws: VerificationError.self) {
            try verifier.verifyTransaction(String(repeating: "e", count: (1 << 20) + 1))
        }
        #expect(jws?.code == .inputTooLarge && jws?.offset == 1_048_576)
    }

    /// A stored receipt has the default limit, and no policy to change it.
    @Test func `a stored receipt may have as many bytes as a received one`() throws {
        let limit = 67_108_864
        func refusal<Value: Decodable>(_ type: Value.Type, byteCount: Int) -> (any Error)? {
            refusal(type, Data(count: byteCount).base64EncodedString())
        }
        func refusal<Value: Decodable>(_ type: Value.Type, _ base64: String) -> (any Error)? {
            do {
                _ = try JSONDecoder().decode(type, from: Data("\"\(base64)\"".utf8))
                return nil
            } catch {
                guard case DecodingError.dataCorrupted(let context) = error else { return error }
                return context.underlyingError
            }
        }
        let tooLarge = InputError(.inputTooLarge, armor: .base64, offset: (limit + 2) / 3 * 4)
        // Zeros are no payload.
        #expect(refusal(Receipt.self, byteCount: limit) is VerificationError)
        #expect(refusal(Receipt.self, byteCount: limit + 1) as? InputError == tooLarge)
        #expect(refusal(Receipt.self, byteCount: limit + 3) as? InputError == tooLarge)
        #expect(refusal(InAppPurchase.self, byteCount: limit + 1) as? InputError == tooLarge)
        #expect(refusal(InAppPurchase.self, byteCount: limit + 3) as? InputError == tooLarge)
        // A longer text is not decoded.
        let other = String(repeating: "*", count: tooLarge.offset + 1)
        #expect(refusal(Receipt.self, other) as? InputError == tooLarge)
    }
}
