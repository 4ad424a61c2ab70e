import AppStoreReceipt
@_spi(Surfaces) import AppStoreReceiptTesting
import CGauges

/// What is measured of signed data; the first is libcrypto's, the others ours.
enum SignedDataTask: String, CaseIterable {
    /// The digest of header and payload, and one ECDSA P-256 verification.
    case floor = "jws-floor"
    /// From the text to a verified transaction, with a known chain.
    case verify = "jws"
    /// The same with a leaf and an intermediate never seen before.
    case verifyCold = "jws-cold"
    /// Verify, then touch every field.
    case readAll = "jws-read-all"
}

/// Signed transactions beside the floor, in turns.
struct SignedDataTiming {
    private let authority: TestCertificateAuthority
    private let verifier: AppStoreVerifier
    /// Verifies only new chains, which would evict the known one from the other cache.
    private let coldVerifier: AppStoreVerifier
    private let baselines: Baselines
    private let jws: String
    private let signed: [UInt8]
    private let signature: [UInt8]

    init() throws {
        authority = try TestCertificateAuthority(.ellipticCurve)
        let trust = try AppStoreTrust.roots([authority.trustAnchor])
        verifier = try AppStoreVerifier(bundleID: "com.example.app", environments: [.production], trust: trust)
        coldVerifier = try AppStoreVerifier(bundleID: "com.example.app", environments: [.production], trust: trust)
        baselines = try Baselines(leaf: authority.leaf.certificate, root: authority.root.certificate)
        jws = try Self.transaction.signed(by: authority)
        signed = Array(Self.transaction.signingInput(certificates: authority.certificates).utf8)
        signature = try authority.leaf.key.sign(signed, digest: .sha256)
    }

    /// A subscription's transaction.
    private static var transaction: JWSBuilder {
        var builder = JWSBuilder.transaction(
            bundleID: "com.example.app", productID: "com.example.app.subscription.monthly",
            transactionID: "2000001027701898")
        builder.payload["type"] = "Auto-Renewable Subscription"
        builder.payload["webOrderLineItemId"] = "2000000113864605"
        builder.payload["subscriptionGroupIdentifier"] = "21752814"
        builder.payload["expiresDate"] = 1_752_580_800_000
        return builder
    }

    func measure(_ effort: Effort) throws -> [Measurement] {
        let tasks = SignedDataTask.allCases
        var samples: [[Double]] = Array(repeating: [], count: tasks.count)
        for _ in 0..<max(2, min(effort.maximumRounds, 400)) {
            for (index, task) in tasks.enumerated() { samples[index].append(try time(task)) }
        }
        let floor = median(samples[0])
        return try zip(tasks, samples).map { task, samples in
            Measurement(
                task: task.rawValue, purchases: 1, bytes: jws.utf8.count, medianNanoseconds: median(samples),
                minimumNanoseconds: samples.min() ?? 0, ratioToFloor: median(samples) / floor,
                allocations: try allocations(task), peakResidentBytes: 0)
        }
    }

    private func time(_ task: SignedDataTask) throws -> Double {
        let calls = task == .verifyCold ? 1 : 20
        let input = try input(task)
        let start = gauge_nanoseconds()
        for _ in 0..<calls { try call(task, input) }
        return Double(gauge_nanoseconds() - start) / Double(calls)
    }

    private func allocations(_ task: SignedDataTask) throws -> Int {
        try call(task, input(task))
        let input = try input(task)
        let before = gauge_allocations()
        try call(task, input)
        return Int(gauge_allocations() - before)
    }

    private func input(_ task: SignedDataTask) throws -> String {
        guard task == .verifyCold else { return jws }
        // ECDSA signs the certificates anew each time.
        return try Self.transaction.signed(
            by: authority.renewed(.ellipticCurve, serialNumber: [], includingIntermediate: true))
    }

    private func call(_ task: SignedDataTask, _ jws: String) throws {
        switch task {
        case .floor:
            guard baselines.ecdsaFloor(signed: signed, signature: signature) else { throw BenchmarkError.baseline }
        case .verify, .verifyCold:
            let verifier = task == .verify ? verifier : coldVerifier
            guard try verifier.verifyTransaction(jws).transactionID != nil else { throw BenchmarkError.baseline }
        case .readAll:
            let info = try verifier.verifyTransaction(jws).payload
            guard readAll(info) > 0 else { throw BenchmarkError.baseline }
        }
    }

    private func readAll(_ info: TransactionInfo) -> Int {
        var sum = 0
        for text in [
            info.transactionID, info.originalTransactionID, info.webOrderLineItemID, info.appTransactionID,
            info.bundleID, info.productID, info.subscriptionGroupID, info.storefront, info.storefrontID, info.currency,
            info.productType?.rawValue, info.ownershipType?.rawValue, info.reason?.rawValue,
        ] { sum += text?.utf8.count ?? 0 }
        for date in [info.purchaseDate, info.originalPurchaseDate, info.expiresDate, info.signedDate] {
            sum += Int(truncatingIfNeeded: date?.millisecondsSince1970 ?? 0) & 1
        }
        return sum + Int(truncatingIfNeeded: info.price ?? 0) + (info.isRevoked ? 1 : 0)
    }
}
