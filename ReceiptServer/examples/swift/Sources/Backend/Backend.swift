import AppStoreReceipt
import Foundation
import PurchaseLedger

/// A small backend of a shop with the ledger in its own process: what each account has, by the rule of *Deliver* in
/// `ReceiptServer/TUTORIAL.md`.
///
///     Backend init        makes a new ledger, once
///     Backend             serves on 127.0.0.1
///
///     POST /redeem          from the app: the evidence as the body. Answers which transactions the app may finish
///     POST /notifications   from Apple
///     GET  /balances        for the app: what the account has
///
/// It has a thread for each request. In tasks, await the same calls of the ledger.
@main struct Backend: Sendable {
    let ledger: PurchaseLedger
    let verifier: AppStoreVerifier
    let balances: Balances

    static func main() throws {
        let environment = ProcessInfo.processInfo.environment
        let location = environment["LEDGER"] ?? "ledger.db"
        if CommandLine.arguments.dropFirst() == ["init"] {
            _ = try PurchaseLedger(creating: location)
            return
        }
        // What the shop sells: Apple signs no length of a month card.
        var policy = LedgerPolicy()
        policy.productTypes = ["com.example.app.card": .nonRenewing(days: 30)]
        // Apple's roots, unless a test has others.
        let roots = try environment["ROOTS"].map { paths in
            try paths.split(separator: ":").map { path in
                try TrustAnchor(der: Array(Data(contentsOf: URL(filePath: String(path)))))
            }
        }
        let backend = Backend(
            ledger: try PurchaseLedger(location, policy: policy),
            verifier: try AppStoreVerifier(
                bundleID: "com.example.app", environments: [.production, .sandbox],
                trust: roots.map { .roots($0) } ?? .apple),
            balances: try Balances(environment["DATABASE"] ?? "shop.db"))

        // Also what the answer to a request or notification said before the process died, and what Apple dated ahead.
        let delivery = EventDelivery(backend.ledger) { event in try backend.balances.apply(event) }
        Thread.detachNewThread { delivery.run { error in log("\(error)") } }
        try serve(port: environment["PORT"].flatMap(UInt16.init) ?? 8081) { request in
            do {
                return try backend.answer(request)
            } catch {
                // Nothing is acknowledged that is not recorded: the app, or Apple, sends it again.
                log("\(request.path): \(error)")
                return Response(500)
            }
        }
    }

    func answer(_ request: Request) throws -> Response {
        // The account that is signed in. Take it from your session, never from the app. This example has no sessions.
        let account = request.headers["x-example-account"] ?? ""
        switch (request.method, request.path) {
        case ("POST", "/redeem"): return account.isEmpty ? Response(401) : try redeem(request.body, for: account)
        case ("POST", "/notifications"): return try record(request.body)
        case ("GET", "/balances"): return try Response(200, json: balances.shown(to: account))
        default: return Response(404)
        }
    }

    private func redeem(_ body: [UInt8], for account: String) throws -> Response {
        let evidence: VerifiedEvidence
        do {
            evidence = try verifier.verify(body)
        } catch {
            // Nothing is granted, and the app must not finish the transaction.
            return try Response(error.category.httpStatus, json: ["code": error.code])
        }
        // If the app sets an appAccountToken when it buys, pass the account's as `accountToken`, too.
        let redemption = try ledger.redeem(evidence, for: account)
        try balances.apply(redemption, for: account)
        // Only now may the app finish: the balances are recorded.
        struct Answer: Encodable {
            let finish: [String]
            let outcomes: [String: String]
        }
        let outcomes = redemption.outcomes.map { ($0.transactionID, $0.outcome.rawValue) }
        return try Response(
            200,
            json: Answer(
                finish: redemption.outcomes.filter(\.mayFinish).map(\.transactionID),
                outcomes: Dictionary(outcomes) { first, _ in first }))
    }

    private func record(_ body: [UInt8]) throws -> Response {
        let notification: VerifiedNotification
        do {
            notification = try verifier.verifyNotification(body)
        } catch {
            return try Response(error.category.httpStatus, json: ["code": error.code])
        }
        for event in try ledger.record(notification) { try balances.apply(event) }
        return Response(200)
    }
}

func log(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
