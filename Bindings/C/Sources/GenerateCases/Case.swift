@_spi(Surfaces) import AppStoreReceipt
import Foundation

/// A case of `Bindings/cases/cases.json`: a call of the library, whose result is the same in every language.
struct Case {
    enum Call: String {
        case verify, entitlements, answer, decode, new
        case appReceiptID = "extract_transaction_id_from_app_receipt"
        case transactionReceiptID = "extract_transaction_id_from_transaction_receipt"
    }
    enum ValidationDate { case now, date(Int64) }

    /// The options of a verifier, as the bindings name them.
    struct Options {
        var bundleIDs = ["com.example.app"]
        var environments = ["production"]
        var appAppleID: String?
        var roots = ["authority/root.der"]
        var issuers: [String] = []
        var isStoreKitTesting = false
        var distrusted: [String] = []
        var maximumAge: Int64?
        var validationDate: ValidationDate?
        var allowsRSA1024 = false
        var requiresStrictForm = false
        var clock: Int64?
        var productTypes: [String: CatalogType] = [:]

        static let receipts = Options()
        static let jws = Options(roots: ["authority/ec-root.der"])
        static let transactionReceipts = Options(
            issuers: ["authority/itunes-store.der", "authority/intermediate.der"], allowsRSA1024: true)
        static let all = Options(
            environments: ["production", "sandbox"], roots: ["authority/root.der", "authority/ec-root.der"],
            issuers: ["authority/itunes-store.der", "authority/intermediate.der"], allowsRSA1024: true)

        func with(_ change: (inout Options) -> Void) -> Options {
            var copy = self
            change(&copy)
            return copy
        }
    }

    var name: String
    var call = Call.verify
    var json = "full"
    var options = Options.receipts
    var evidence: [String] = []
    var date: Int64?
    /// The environment to decide in; `nil` for none.
    var environment: AppStoreEnvironment?
    var fillsLatestReceiptInfo = false
}

/// What a call must return.
struct Expectation {
    var status: Int
    var code = ""
    var category = ""
    var json: String?

    init(_ status: Int, _ json: String?) { (self.status, self.json) = (status, json) }

    init(_ error: VerificationError, _ json: String?) {
        status =
            switch error.fault.party {
            case .client, .forger: 1
            case .library, .host: 2
            case .configuration: 3
            }
        code = error.code.rawValue
        category = error.category.rawValue
        self.json = json
    }
}

extension Case {
    /// Calls the Swift library, without the C ABI.
    ///
    /// - Parameter surface: The surface whose option names advice uses.
    func expectation(_ read: (String) -> [UInt8], for surface: Surface = .c) throws -> Expectation {
        let options = options
        var policy = VerificationPolicy(
            bundleIDs: options.bundleIDs.isEmpty ? nil : Set(options.bundleIDs), appAppleID: options.appAppleID,
            environments: Set(options.environments.compactMap(AppStoreEnvironment.init(rawValue:))))
        policy.maximumAge = options.maximumAge.map { .seconds($0) }
        policy.allowsRSA1024TransactionReceipts = options.allowsRSA1024
        policy.requiresStrictForm = options.requiresStrictForm
        policy.distrusted = Set(options.distrusted.compactMap { Fingerprint($0) })
        switch options.validationDate {
        case .now: policy.validationDate = .now
        case .date(let date): policy.validationDate = .at(Instant(millisecondsSince1970: date))
        case nil: break
        }
        if let clock = options.clock { policy.clock = { Instant(millisecondsSince1970: clock) } }
        let roots = try options.roots.map { try TrustAnchor(der: read($0)) }
        var trust: AppStoreTrust =
            options.isStoreKitTesting ? .storeKitTesting(roots) : roots.isEmpty ? .apple : .roots(roots)
        if !options.issuers.isEmpty {
            trust = trust.adding(try options.issuers.map { try TransactionReceiptIssuer(der: read($0)) })
        }
        let pieces = evidence.map(read)
        do throws(VerificationError) {
            let verifier = try AppStoreVerifier(policy: policy, trust: trust)
            switch call {
            case .new: return Expectation(0, nil)
            case .decode: return Expectation(5, try UnverifiedEvidence(decoding: pieces[0]).json)
            case .verify:
                let verified = try verifier.verify(pieces[0])
                return Expectation(0, json == "none" ? nil : json == "brief" ? verified.verdictJSON : verified.json)
            case .entitlements: return try entitlements(verifier, pieces, surface)
            case .appReceiptID:
                let id = try verifier.extractTransactionID(appReceipt: pieces[0])
                return Expectation(0, AppStoreVerifier.json(transactionID: id))
            case .transactionReceiptID:
                let id = try verifier.extractTransactionID(transactionReceipt: pieces[0])
                return Expectation(0, AppStoreVerifier.json(transactionID: id))
            case .answer:
                let responder = try VerifyReceiptResponder(
                    policy: policy, trust: trust, fillsLatestReceiptInfo: fillsLatestReceiptInfo)
                let answer = responder.answer(to: pieces[0])
                let body = String(decoding: answer.body, as: UTF8.self)
                if case .failure(let error) = answer.result { return Expectation(error, body) }
                return Expectation(0, body)
            }
        } catch {
            return Expectation(error, json == "none" ? nil : error.json(for: .user(of: surface)))
        }
    }

    private func entitlements(
        _ verifier: AppStoreVerifier, _ pieces: [[UInt8]], _ surface: Surface
    ) throws(VerificationError) -> Expectation {
        let decision = try verifier.decision(
            on: pieces, inEnvironment: environment, at: Instant(millisecondsSince1970: date ?? 0),
            productTypes: ProductCatalog(options.productTypes))
        let (refused, json) = (decision.refusals, decision.json(for: .user(of: surface)))
        guard let error = refused.first(where: \.error.isHostFault)?.error ?? refused.first?.error else {
            return Expectation(0, json)
        }
        // A piece that the options cannot check, or this version cannot read, is refused.
        var expectation = Expectation(error, json)
        if !error.isHostFault { expectation.status = 1 }
        return expectation
    }
}
