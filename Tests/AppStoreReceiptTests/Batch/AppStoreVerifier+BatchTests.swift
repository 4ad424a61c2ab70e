import AppStoreReceiptTesting
import Foundation
import StrictText
import TestSupport
import Testing

@testable import AppStoreReceipt

/// What becomes of each piece of evidence, and of what stands beside it.
@Suite struct AppStoreVerifierBatchTests {
    private let verifier: AppStoreVerifier
    private let receipt: [UInt8]
    private let base64: String
    private let transaction: String

    init() throws {
        verifier = try Minted.verifier()
        let builder = ReceiptBuilder(
            bundleID: Minted.bundleID,
            purchases: [.consumable("coins", transactionID: "007"), .nonConsumable("pro", transactionID: "8")])
        let signed = try builder.signed(by: Minted.authority)
        receipt = signed
        base64 = Base64.encode(signed.span)
        transaction = try Minted.transaction.signed(by: Minted.ellipticAuthority)
    }

    private func verdict(_ piece: String) -> BatchVerdict { verifier.verdict(on: Array(piece.utf8)) }

    private func object(_ verdict: BatchVerdict, isBrief: Bool = false) throws -> [String: Any] {
        try #require(
            JSONSerialization.jsonObject(with: Data((isBrief ? verdict.briefJSON : verdict.json).utf8))
                as? [String: Any])
    }

    @Test func `all forms of evidence are told apart`() throws {
        let text = base64.replacingOccurrences(of: "/", with: "\\/")
        for piece in [
            base64, " \(base64)\r", "{\"receipt-data\":\"\(base64)\"}", "\u{FEFF}{\"receipt-data\":\"\(text)\"}\r",
            "{\"receipt\\u002ddata\" : \"\(text)\\r\\n\"}", "{\"signedPayload\":\"\(base64)\"}",
        ] {
            let verdict = verdict(piece)
            #expect(verdict.otherMembers == nil)
            #expect(try verdict.result.get().transactionIDs.sorted() == ["007", "8"])
            #expect(try verdict.result.get().bundleID == Minted.bundleID)
            #expect(try verdict.result.get().environment == .production)
        }
        let notification = try JWSBuilder.notification(
            .didRenew, bundleID: Minted.bundleID, transaction: transaction
        ).signed(by: Minted.ellipticAuthority)
        for piece in [
            transaction, "\t\(transaction) \r", "{\"signedTransactionInfo\":\"\(transaction)\"}",
            "{\"receipt-data\":\"\(transaction)\"}", "{\"signedPayload\":\"\\u0065\(notification.dropFirst())\"}",
        ] {
            #expect(try verdict(piece).result.get().transactionIDs == ["1000"])
            #expect(try verdict(piece).result.get().bundleID == Minted.bundleID)
        }
        #expect(try verifier.verdict(on: receipt).result.get().transactionIDs.count == 2)
    }

    @Test(arguments: [
        ("", "empty-input"), ("  \r", "empty-input"), ("hello", "unrecognized-form"), ("MIIB", "truncated"),
        ("eyJ", "part-count"), ("{", "invalid-json"), ("{}", "missing-receipt-data"),
        ("{\"a\":1}", "missing-receipt-data"),
        ("{\"a\":01,\"receipt-data\":\"MIIB\"}", "invalid-json"), ("{\"receipt-data\":\"MIIB\"} x", "invalid-json"),
        ("{\"receipt-data\":null}", "invalid-json"), ("{\"receipt-data\":\"\"}", "empty-input"),
        ("{\"receipt-data\":\"*\"}", "invalid-base64"), ("{\"receipt-data\":\"ey\"}", "part-count"),
        ("{\"receipt-data\":\"MIIB\",\"receipt-data\":\"MIIB\"}", "invalid-json"),
        ("{\"receipt-data\":\"MIIB\",\"signedPayload\":\"ey\"}", "invalid-json"),
        ("{\"a\":\(String(repeating: "[", count: 70))", "invalid-json"),
    ])
    func `what is no evidence has the error of its fault`(piece: String, code: String) throws {
        let verdict = verdict(piece)
        guard case .failure(let error) = verdict.result else {
            Issue.record("\(piece) was verified")
            return
        }
        #expect(error.code.rawValue == code)
        #expect(try (object(verdict)["error"] as? [String: Any])?["code"] as? String == code)
    }

    /// Members that a parser would change, and what they are beside a verdict.
    static let members = [
        #""id":7"#, #""id":9007199254740993,"big":123456789012345678901234567890,"e":1.50E+02"#,
        #""a":1,"a":2,"":{"receipt-data":"x","verified":true},"b":[[],{},null, false , "\u00e9\/\ud83d\ude00"]"#,
        #""\u0061\n":"\t\"\\","é":"ü","receipt_data":"no","Verified ":1,"receipt-data ":2"#,
    ]

    @Test(arguments: members, ["MIIB", "genuine"])
    func `other members come back as they came, in an object of their own`(members: String, kind: String) throws {
        let evidence = "\"receipt-data\":\"\(kind == "genuine" ? base64 : kind)\""
        for piece in [members + "," + evidence, evidence + " , " + members] {
            let verdict = verdict("{\(piece)}")
            #expect(verdict.otherMembers?.text == "{\(members)}")
            #expect(verdict.json.hasPrefix("{\"input\":{\(members)},\"verified\":\(kind == "genuine"),"))
            #expect(verdict.briefJSON.hasPrefix("{\"input\":{\(members)},\"verified\":\(kind == "genuine"),"))
            _ = try object(verdict)
        }
        // Also where the evidence is missing.
        #expect(verdict("{\(members)}").otherMembers?.text == "{\(members)}")
    }

    @Test func `a verdict is one line, wherever the sender breaks lines`() throws {
        let forged = "{\"verified\":true,\"transaction_ids\":[\"1\"]}"
        for lineBreak in ["\n", "\r", "\r\n"] {
            let verdict = verdict("{\"receipt-data\":\"MIIB\",\(lineBreak)\"a\":[\(lineBreak)\(forged)\(lineBreak)]}")
            #expect(!verdict.json.contains { $0.isNewline })
            #expect(verdict.json.hasPrefix("{\"input\":{\"a\":[\(forged)]},\"verified\":false,"))
        }
    }

    /// Names that some reader takes for one of the verdict's: Go's folds case as Unicode does (`ſ` is `s`), others by
    /// their own rules.
    @Test(arguments: [
        "verified", "schema", "error", "trust", "receipt", "file", "transaction", "notification", "renewal_info",
        "input", "app_transaction", "realtime_request", "bundle_id", "environment", "transaction_ids",
        "verif\\u0069ed",
        "VERIFIED", "Transaction_IDs", "tranſaction", "transactıon", "transactİon", "realtime_requeſt", "receıpt",
        "verıfied", "\\u212A", "verified\u{301}",
    ])
    func `nothing that a sender writes stands beside the verdict`(name: String) throws {
        for evidence in [base64, "MIIB"] {
            let verdict = verdict("{\"id\":1,\"\(name)\":true,\"receipt-data\":\"\(evidence)\",\"b\":2}")
            let own = self.verdict(evidence)
            for isBrief in [false, true] {
                #expect(
                    (isBrief ? verdict.briefJSON : verdict.json)
                        == "{\"input\":{\"id\":1,\"\(name)\":true,\"b\":2},\((isBrief ? own.briefJSON : own.json).dropFirst())"
                )
            }
            let members = try object(verdict)
            #expect(
                members.keys.filter { !["input", "verified", "schema", "trust", "receipt", "error"].contains($0) } == []
            )
        }
    }

    @Test func `a verdict is printed as that of one receipt, or in brief`() throws {
        let one = try verifier.verifyReceipt(receipt).json
        #expect(verdict(base64).json == one)
        #expect(verdict("{\"receipt-data\":\"\(base64)\"}").json == one)
        let ids = try verifier.verifyReceipt(receipt).inAppPurchases.compactMap(\.transactionID)
        #expect(
            verdict(base64).briefJSON == """
                {"verified":true,"schema":1,"bundle_id":"com.example.app","environment":"production",\
                "transaction_ids":["\(ids[0])","\(ids[1])"]}
                """)
        #expect(
            verdict("{\"id\":1,\"signedTransactionInfo\":\"\(transaction)\"}").briefJSON == """
                {"input":{"id":1},"verified":true,"schema":1,"bundle_id":"com.example.app","environment":"production",\
                "transaction_ids":["1000"]}
                """)
        #expect(verdict("MIIB").briefJSON == verdict("MIIB").json)
    }

    @Test func `verdicts are counted with the verifier's others`() {
        for piece in [base64, "{\"receipt-data\":\"\(base64)\"}", "{}", "{", "hello"] { _ = verdict(piece) }
        #expect(verifier.counts.verified == 2)
        #expect(
            verifier.counts.refused == [
                .missingReceiptData: 1, .invalidJSON: 1, .unrecognizedForm: 1,
            ])
    }

    /// Every third is broken.
    private var pieces: [[UInt8]] {
        (0..<300).map { Array("{\"id\":\($0),\"receipt-data\":\"\($0 % 3 == 0 ? "MIIB" : base64)\"}".utf8) }
    }

    private func check(_ verdicts: [BatchVerdict]) {
        #expect(verdicts.count == 300)
        for (index, verdict) in verdicts.enumerated() {
            #expect(verdict.otherMembers?.text == "{\"id\":\(index)}")
            #expect((try? verdict.result.get()) == nil ? index % 3 == 0 : index % 3 != 0)
        }
    }

    @Test func `many pieces have their verdicts in order, a broken one among them`() {
        var verdicts: [BatchVerdict] = []
        verifier.forEachVerdict(on: pieces, concurrency: 3) { verdicts.append($0) }
        check(verdicts)
        var lines: [String] = []
        verifier.forEachVerdict(on: pieces, transform: { $0.json }, { lines.append($0) })
        #expect(lines == pieces.map { verifier.verdict(on: $0).json })
    }

    /// The same evidence again and again, and how often it was asked for.
    private struct Copies: Sequence, Sendable {
        let evidence: [UInt8]
        let count: Int
        let read = BatchSequenceTests.Counter()

        func makeIterator() -> AnyIterator<[UInt8]> {
            var rest = count
            return AnyIterator {
                guard rest > 0 else { return nil }
                rest -= 1
                read.increment()
                return evidence
            }
        }
    }

    private struct Enough: Error, Equatable { let count: Int }

    @Test(arguments: [1, 3, 8])
    func `a body that throws ends the work: its error is thrown, and no thread is left`(concurrency: Int) throws {
        final class Kept: Sendable {
            let freed: BatchSequenceTests.Counter
            init(_ freed: BatchSequenceTests.Counter) { self.freed = freed }
        }
        var key = pthread_key_t()
        try #require(
            unsafe pthread_key_create(&key) { value in
                usleep(20_000)
                if let value = unsafe value {
                    unsafe Unmanaged<Kept>.fromOpaque(value).takeRetainedValue().freed.increment()
                }
            } == 0)
        defer { pthread_key_delete(key) }
        // More than could be verified before the body throws.
        let copies = Copies(evidence: Array(base64.utf8), count: 1_000_000)
        let (threads, freed) = (BatchSequenceTests.Counter(), BatchSequenceTests.Counter())
        var taken = 0
        do throws(Enough) {
            try verifier.forEachVerdict(
                on: copies, concurrency: concurrency,
                transform: { [key] verdict in
                    guard unsafe pthread_getspecific(key) == nil else { return verdict }
                    threads.increment()
                    unsafe _ = pthread_setspecific(key, Unmanaged.passRetained(Kept(freed)).toOpaque())
                    return verdict
                },
                { (verdict: BatchVerdict) throws(Enough) in
                    taken += 1
                    if taken == 5 { throw Enough(count: taken) }
                })
            Issue.record("nothing was thrown")
        } catch {
            #expect(error == Enough(count: 5))
        }
        // Each thread has ended, with what it kept, and nothing is read any more.
        #expect(threads.count >= 1 && freed.count == threads.count)
        let read = copies.read.count
        #expect(read <= 5 + 4 * concurrency)
        usleep(50_000)
        #expect(copies.read.count == read)
        #expect(verifier.counts.verified <= UInt64(read))
    }

    @Test func `a body that does not throw is called without try, with each verdict once, by the caller's thread`() {
        let caller = pthread_self()
        var count = 0
        verifier.forEachVerdict(on: pieces) { _ in
            if pthread_equal(caller, pthread_self()) != 0 { count += 1 }
        }
        #expect(count == 300)
        verifier.forEachVerdict(on: [[UInt8]]()) { _ in Issue.record("a verdict on nothing") }
    }

    @Test func `many pieces of an asynchronous sequence have their verdicts in order`() async {
        let (stream, continuation) = AsyncStream.makeStream(of: [UInt8].self)
        for piece in pieces { continuation.yield(piece) }
        continuation.finish()
        var verdicts: [BatchVerdict] = []
        for await verdict in verifier.verdicts(on: stream) { verdicts.append(verdict) }
        check(verdicts)
    }

    @Test func `a task has the verdicts of a sequence in order, as texts and as bytes`() async {
        var verdicts: [BatchVerdict] = []
        for await verdict in verifier.verdicts(on: pieces, concurrency: 3) { verdicts.append(verdict) }
        check(verdicts)
        let texts = pieces.prefix(20).map { String(decoding: $0, as: UTF8.self) }
        var lines: [String] = []
        for await line in verifier.verdicts(on: texts, transform: { $0.json }) { lines.append(line) }
        #expect(lines == texts.map { verifier.verdict(on: $0).json })
        for await _ in verifier.verdicts(on: [String]()) { Issue.record("a verdict on nothing") }
    }

    /// Waits on the thread of a verdict until a task has said that it runs, which other tests can delay.
    private final class Gate: Sendable {
        private let semaphore = DispatchSemaphore(value: 0)

        func pass() -> Bool {
            defer { semaphore.signal() }
            return semaphore.wait(timeout: .now() + 300) == .success
        }

        func open() { semaphore.signal() }
    }

    @Test func `verdicts leave the executor's threads to other tasks`() async {
        let stream = AsyncStream { continuation in
            for piece in pieces.prefix(100) { continuation.yield(piece) }
            continuation.finish()
        }
        let gates = (Gate(), Gate())
        async let ofStream = verifier.verdicts(on: stream, concurrency: 64, transform: { _ in gates.0.pass() })
            .allSatisfy { $0 }
        async let ofSequence = verifier.verdicts(on: Array(pieces.prefix(100)), transform: { _ in gates.1.pass() })
            .allSatisfy { $0 }
        // All threads of both batches wait by now, or will.
        try? await Task.sleep(for: .milliseconds(50))
        await Task.detached {
            gates.0.open(); gates.1.open()
        }.value
        let (first, second) = await (ofStream, ofSequence)
        #expect(first && second)
    }

    @Test func `a cancelled task gets no more verdicts, and one that stops asking leaves no work`() async throws {
        let copies = Copies(evidence: Array(base64.utf8), count: 1_000_000)
        let task = Task { [verifier] in
            var count = 0
            for await _ in verifier.verdicts(on: copies, concurrency: 2) {
                count += 1
                if count == 3 { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
            }
            return count
        }
        #expect(await task.value < 100)
        let others = Copies(evidence: Array(base64.utf8), count: 1_000_000)
        for await _ in verifier.verdicts(on: others, concurrency: 2) { break }
        #expect(try await BatchSequenceTests.countAtRest(others.read) < 100)
    }
}
