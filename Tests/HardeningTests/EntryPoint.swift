import AppStoreReceipt
import AppStoreReceiptFoundation
import AppStoreReceiptTesting
import CMSTrust
import Foundation
import SignatureTrust
import SpanASN1
import TestSupport

/// The code and the place of an error.
struct Refusal: Equatable {
    let code: String
    let offset: Int?
}

/// A public function that takes what strangers send, and an input that is as large as it allows.
struct EntryPoint: Sendable, CustomStringConvertible {
    /// How its line in `Tests/PublicAPI/` begins.
    let declaration: String
    /// What the input is.
    let form: String
    /// As large as is allowed, and accepted.
    let input: [UInt8]
    /// Whether the input must be UTF-8.
    let takesString: Bool
    /// Makes an argument of bytes, and gives the call with it: `nil` when it is accepted.
    let call: @Sendable ([UInt8]) -> @Sendable () async -> Refusal?

    var description: String { "\(declaration) \(form)" }

    func refusal(of input: [UInt8]) async -> Refusal? { await call(input)() }

    private init(
        _ declaration: String, _ form: String, _ input: [UInt8], takesString: Bool = false,
        _ call: @escaping @Sendable ([UInt8]) -> @Sendable () async -> Refusal?
    ) {
        self.declaration = declaration
        self.form = form
        self.input = input
        self.takesString = takesString
        self.call = call
    }
}

// MARK: - Limits

/// The maximum size of a text around a binary receipt of this size, as documented at
/// `VerificationLimits.maximumReceiptByteCount`.
func maximumTextByteCount(_ maximumByteCount: Int) -> Int { 2 * maximumByteCount + 65_536 }

extension [UInt8] {
    /// Padded with line feeds to this number of bytes.
    fileprivate func padded(to count: Int) -> [UInt8] { self + [UInt8](repeating: 0x0A, count: count - self.count) }
}

// MARK: - The table

extension EntryPoint {
    static let all = Result { try receipts() + jws() + transactionReceipts() + evidence() + messages() }

    private static func receipt() throws -> [UInt8] {
        try ReceiptBuilder(
            bundleID: "com.example.app", purchases: [.nonConsumable("pro", transactionID: "1")]
        ).signed(by: Minted.authority)
    }

    private static func receiptPolicy(_ maximumByteCount: Int) -> VerificationPolicy {
        var policy = VerificationPolicy(bundleIDs: nil, environments: [.production])
        policy.limits.maximumReceiptByteCount = maximumByteCount
        return policy
    }

    private static func receiptVerifier(_ maximumByteCount: Int) throws -> AppStoreVerifier {
        try AppStoreVerifier(
            policy: receiptPolicy(maximumByteCount), trust: .roots([Minted.authority.trustAnchor]))
    }

    private static func jwsVerifier(_ maximumByteCount: Int) throws -> AppStoreVerifier {
        var policy = VerificationPolicy(
            bundleIDs: ["com.example.app"], appAppleID: "1234567890", environments: [.production])
        policy.limits.maximumJWSByteCount = maximumByteCount
        return try AppStoreVerifier(policy: policy, trust: .roots([Minted.ellipticAuthority.trustAnchor]))
    }

    private static func refusal<Value>(_ body: () throws(VerificationError) -> Value) -> Refusal? {
        do throws(VerificationError) {
            _ = try body()
            return nil
        } catch {
            return Refusal(code: error.code.rawValue, offset: error.offset)
        }
    }

    private static func refusal(_ result: Result<VerifiedEvidence, VerificationError>?) -> Refusal? {
        switch result {
        case .success: nil
        case .failure(let error): Refusal(code: error.code.rawValue, offset: error.offset)
        case nil: Refusal(code: "no verdict", offset: nil)
        }
    }

    private static func string(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    // MARK: Receipts

    /// A receipt in each form, the texts as large as allowed.
    private static func forms(of receipt: [UInt8]) -> [(form: String, input: [UInt8])] {
        let base64 = Data(receipt).base64EncodedString()
        let limit = maximumTextByteCount(receipt.count)
        return [
            ("binary", receipt), ("base64", Array(base64.utf8).padded(to: limit)),
            ("PEM", Array("-----BEGIN PKCS7-----\n\(base64)\n-----END PKCS7-----".utf8).padded(to: limit)),
            ("JSON", Array(#"{"receipt-data":"\#(base64)","x":[]}"#.utf8).padded(to: limit)),
            ("line feeds and base64", [].padded(to: limit - base64.utf8.count) + Array(base64.utf8)),
        ]
    }

    private static func receipts() throws -> [EntryPoint] {
        let receipt = try receipt()
        let verifier = try receiptVerifier(receipt.count)
        let responder = try VerifyReceiptResponder(
            policy: receiptPolicy(receipt.count), trust: .roots([Minted.authority.trustAnchor]))
        let limits = verifier.policy.limits
        var rows: [EntryPoint] = []
        for (form, input) in forms(of: receipt) {
            rows += [
                EntryPoint("func verifyReceipt(_ receipt: some EvidenceSource", form, input) { input in
                    { refusal { () throws(VerificationError) in try verifier.verifyReceipt(input) } }
                },
                EntryPoint("func verifyReceipt(_ receipt: some EvidenceSource", form, input) { input in
                    let data = Data(input)
                    return { refusal { () throws(VerificationError) in try verifier.verifyReceipt(data) } }
                },
                EntryPoint("init(decoding input: some EvidenceSource", form, input) { input in
                    {
                        refusal { () throws(VerificationError) in
                            try UnverifiedReceipt(decoding: input, limits: limits)
                        }
                    }
                },
            ]
            if form != "binary" {
                rows.append(
                    EntryPoint("func verifyReceipt(_ receipt: some EvidenceSource", form, input, takesString: true) {
                        input in
                        let text = string(input)
                        return { refusal { () throws(VerificationError) in try verifier.verifyReceipt(text) } }
                    })
            }
            if form == "JSON" {
                rows.append(
                    EntryPoint("func answer(to body: some EvidenceSource", form, input) { input in
                        { refusal { () throws(VerificationError) in try responder.answer(to: input).result.get() } }
                    })
            }
        }
        return rows
    }

    // MARK: JWS

    private static func transaction() throws -> [UInt8] {
        let builder = JWSBuilder.transaction(bundleID: "com.example.app", productID: "pro", transactionID: "1")
        return Array(try builder.signed(by: Minted.ellipticAuthority).utf8)
    }

    private static func jws() throws -> [EntryPoint] {
        typealias Method<JWS, Value> = @Sendable (AppStoreVerifier) -> (JWS) throws(VerificationError) -> Value
        /// A method for one kind, with each type that it takes.
        func rows<Value>(
            _ name: String, _ jws: [UInt8], text: @escaping Method<String, Value>,
            bytes: @escaping Method<[UInt8], Value>, data: @escaping Method<Data, Value>
        ) throws -> [EntryPoint] {
            let verifier = try jwsVerifier(jws.count)
            return [
                EntryPoint("func \(name)(_ jws: some EvidenceSource)", "JWS", jws, takesString: true) { input in
                    let jws = string(input)
                    return { refusal { () throws(VerificationError) in try text(verifier)(jws) } }
                },
                EntryPoint("func \(name)(_ jws: some EvidenceSource)", "JWS", jws) { jws in
                    { refusal { () throws(VerificationError) in try bytes(verifier)(jws) } }
                },
                EntryPoint("func \(name)(_ jws: some EvidenceSource)", "JWS", jws) { input in
                    let jws = Data(input)
                    return { refusal { () throws(VerificationError) in try data(verifier)(jws) } }
                },
            ]
        }
        func jws(_ builder: JWSBuilder) throws -> [UInt8] {
            Array(try builder.signed(by: Minted.ellipticAuthority).utf8)
        }
        typealias Verifier = AppStoreVerifier
        let transaction = try transaction()
        return try rows(
            "verifyTransaction", transaction, text: Verifier.verifyTransaction, bytes: Verifier.verifyTransaction,
            data: Verifier.verifyTransaction)
            + rows(
                "verifyRenewalInfo", jws(.renewalInfo(productID: "p", originalTransactionID: "1")),
                text: Verifier.verifyRenewalInfo, bytes: Verifier.verifyRenewalInfo, data: Verifier.verifyRenewalInfo)
            + rows(
                "verifyAppTransaction", jws(.appTransaction(bundleID: "com.example.app")),
                text: Verifier.verifyAppTransaction, bytes: Verifier.verifyAppTransaction,
                data: Verifier.verifyAppTransaction)
            + rows(
                "verifyRealtimeRequest", jws(.realtimeRequest(productID: "p", originalTransactionID: "1")),
                text: Verifier.verifyRealtimeRequest, bytes: Verifier.verifyRealtimeRequest,
                data: Verifier.verifyRealtimeRequest)
            + rows(
                "verifyNotification",
                jws(.notification(.test, bundleID: "com.example.app", transaction: string(transaction))),
                text: Verifier.verifyNotification, bytes: Verifier.verifyNotification,
                data: Verifier.verifyNotification)
    }

    // MARK: Transaction receipts

    private static func transactionReceipts() throws -> [EntryPoint] {
        let list = try TransactionReceiptBuilder(
            bundleID: "com.example.app", productID: "pro", transactionID: "10000000000001"
        ).signed(by: Minted.authority)
        var policy = VerificationPolicy(bundleIDs: nil, environments: [.production])
        policy.limits.maximumTransactionReceiptByteCount = list.count
        let verifier = try AppStoreVerifier(policy: policy, trust: Minted.authority.transactionReceiptTrust)
        let limits = policy.limits
        let base64 = Array(Data(list).base64EncodedString().utf8)
        return [("property list", list), ("base64", base64.padded(to: maximumTextByteCount(list.count)))].flatMap {
            (form, input) in
            [
                EntryPoint("func verifyTransactionReceipt(_ transactionReceipt: some EvidenceSource", form, input) {
                    input in
                    { refusal { () throws(VerificationError) in try verifier.verifyTransactionReceipt(input) } }
                },
                EntryPoint(
                    "func verifyTransactionReceipt(_ transactionReceipt: some EvidenceSource", form, input,
                    takesString: true
                ) { input in
                    let text = string(input)
                    return { refusal { () throws(VerificationError) in try verifier.verifyTransactionReceipt(text) } }
                },
                EntryPoint("func verifyTransactionReceipt(_ transactionReceipt: some EvidenceSource", form, input) {
                    input in
                    let data = Data(input)
                    return { refusal { () throws(VerificationError) in try verifier.verifyTransactionReceipt(data) } }
                },
                EntryPoint("init(unverified input: some EvidenceSource", form, input) { input in
                    { refusal { () throws(VerificationError) in try TransactionReceipt(unverified: input, limits) } }
                },
            ]
        }
    }

    // MARK: Evidence

    /// Evidence in each form, and the verifier for which it is as large as allowed.
    private static func evidence() throws -> [EntryPoint] {
        let (receipt, jws) = try (receipt(), transaction())
        let base64 = Data(receipt).base64EncodedString()
        var rows: [EntryPoint] = []
        // Whichever limit is the larger one counts for JSON.
        for jwsLimit in [jws.count + 1, receipt.count + 20_000] {
            var policy = VerificationPolicy(bundleIDs: nil, environments: [.production])
            policy.limits.maximumReceiptByteCount = receipt.count
            policy.limits.maximumJWSByteCount = jwsLimit
            policy.limits.maximumTransactionReceiptByteCount = 1000
            let anchors = [try Minted.authority.trustAnchor, try Minted.ellipticAuthority.trustAnchor]
            let verifier = try AppStoreVerifier(policy: policy, trust: .roots(anchors))
            let limit = maximumTextByteCount(max(receipt.count, jwsLimit))
            let objects = [
                #"{"receipt-data":"\#(base64)","x":"y"}"#, #" {"x":["y"],"signedPayload":"\#(string(jws))"}"#,
            ].map { Array($0.utf8).padded(to: limit) }
            rows +=
                forms(of: receipt).filter { $0.form != "JSON" }.flatMap { all(verifier, $0.form, $0.input) }
                + all(verifier, "JWS", jws.padded(to: jwsLimit))
                + all(verifier, "line feed and JWS", [0x0A] + jws.padded(to: jwsLimit - 1))
                + objects.flatMap { all(verifier, "JSON", $0) }
        }
        return rows
    }

    private static func all(_ verifier: AppStoreVerifier, _ form: String, _ input: [UInt8]) -> [EntryPoint] {
        var rows = [
            EntryPoint("func verify(_ evidence: some EvidenceSource", form, input) { input in
                { refusal { () throws(VerificationError) in try verifier.verify(input) } }
            },
            EntryPoint("func verify(_ evidence: some EvidenceSource", form, input) { input in
                let data = Data(input)
                return { refusal { () throws(VerificationError) in try verifier.verify(data) } }
            },
            EntryPoint("func forEachVerdict<Pieces, Output, Failure>(on pieces: Pieces, concurrency:", form, input) {
                input in
                { refusal(transformed(input, by: verifier)) }
            },
            EntryPoint("func forEachVerdict<Pieces, Failure>(on pieces: Pieces, concurrency:", form, input) { input in
                { refusal(whole(input, by: verifier)) }
            },
            EntryPoint("func verdicts<Pieces, Output>(on pieces: Pieces, concurrency:", form, input) { input in
                {
                    let results = verifier.verdicts(on: stream(of: input), concurrency: 1) { $0.result }
                    return refusal(await results.first { _ in true })
                }
            },
            EntryPoint("func verdicts<Pieces, Output>(on pieces: Pieces, concurrency:", form, input) { input in
                { refusal(await verifier.verdicts(on: stream(of: input), concurrency: 1).first { _ in true }?.result) }
            },
            EntryPoint("func verdicts<Pieces, Output>(on pieces: Pieces, concurrency:", form, input) { input in
                { refusal(await verifier.verdicts(on: [input], concurrency: 1).first { _ in true }?.result) }
            },
        ]
        if form != "binary" {
            rows.append(
                EntryPoint("func verify(_ evidence: some EvidenceSource", form, input, takesString: true) { input in
                    let text = string(input)
                    return { refusal { () throws(VerificationError) in try verifier.verify(text) } }
                })
        }
        return rows
    }

    private static func transformed(
        _ input: [UInt8], by verifier: AppStoreVerifier
    ) -> Result<VerifiedEvidence, VerificationError>? {
        var results: [Result<VerifiedEvidence, VerificationError>] = []
        verifier.forEachVerdict(on: [input], concurrency: 1, transform: { $0.result }) { results.append($0) }
        return results.first
    }

    private static func whole(
        _ input: [UInt8], by verifier: AppStoreVerifier
    ) -> Result<VerifiedEvidence, VerificationError>? {
        var results: [Result<VerifiedEvidence, VerificationError>] = []
        verifier.forEachVerdict(on: [input], concurrency: 1) { results.append($0.result) }
        return results.first
    }

    private static func stream(of piece: [UInt8]) -> AsyncStream<[UInt8]> {
        AsyncStream { continuation in
            continuation.yield(piece)
            continuation.finish()
        }
    }

    // MARK: Messages

    private static func messages() throws -> [EntryPoint] {
        let authority = try Minted.authority
        let message = try SignedDataBuilder(
            content: [1, 2, 3], certificates: authority.certificates, signers: [.init(authority.leaf)]
        ).encoded()
        var policy = CMSPolicy(anchors: [try authority.trustAnchor])
        policy.limits.maximumMessageByteCount = message.count
        let verifier = try CMSVerifier(policy: policy)
        let date = Instant(millisecondsSince1970: 1_780_000_000_000)
        let limits = ASN1Limits(maximumByteCount: message.count)
        return [
            EntryPoint("func verify(_ received: [UInt8]", "binary", message) { input in
                {
                    do throws(CMSVerificationError) {
                        _ = try verifier.verify(input, at: date)
                        return nil
                    } catch {
                        return Refusal(code: error.code.rawValue, offset: error.offset)
                    }
                }
            },
            EntryPoint("init(_ bytes: Span<UInt8>, baseOffset: Int = 0, rules:", "binary", message) { input in
                {
                    do throws(ASN1DecodingError) {
                        var walker = ASN1Walker(input.span, limits: limits)
                        while try walker.next() != nil {}
                        return nil
                    } catch {
                        return Refusal(code: error.kind.rawValue, offset: error.offset)
                    }
                }
            },
        ]
    }
}
