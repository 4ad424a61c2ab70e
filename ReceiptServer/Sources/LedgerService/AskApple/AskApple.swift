import AppStoreReceipt
import HTTPService
import PurchaseLedger
import Reconciliation

/// Queries the App Store in the background, with `--ask-apple`.
final class AskApple: Sendable {
    let reconciler: Reconciler
    private let file: String
    private let verifier: AppStoreVerifier
    private let log: ServiceLog

    static let options: [OptionTable.Option] = [
        .init(
            "--ask-apple", "FILE",
            "Ask the App Store afterwards, with the keys that FILE names: see RECONCILE.md. FILE and the keys must be readable by their owner only. SIGHUP reads them again."
        ),
        .init(
            "--confirm", "unheard|all|sample=PERCENT|none",
            "Which new purchases to ask about: those without a notification ('unheard', the default), also all of the others or a share of them, or none. Needs --ask-apple."
        ),
        .init(
            "--refund-sweep", "",
            "Ask every week for the refunds of those who bought in the last 90 days, too. Needs --ask-apple."),
    ]

    /// Returns the file that the options name, or `nil` without `--ask-apple`.
    static func file(
        _ values: OptionTable.Values, _ verifier: AppStoreVerifier
    ) throws(ConfigurationError) -> AskAppleFile? {
        guard let path = values["--ask-apple"] else {
            for option in ["--confirm", "--refund-sweep"] where values[option] != nil {
                throw ConfigurationError("\(option) needs --ask-apple")
            }
            return nil
        }
        do throws(AskAppleFault) {
            return try AskAppleFile(path, verifier)
        } catch {
            throw ConfigurationError("--ask-apple: \(error)")
        }
    }

    /// Returns the policy that decides which inquiries the ledger records.
    static func policy(
        _ values: OptionTable.Values, _ file: AskAppleFile
    ) throws(ConfigurationError) -> InquiryPolicy {
        var policy = InquiryPolicy(apps: Set(file.askers.map(\.app.app)))
        if let text = values["--confirm"] {
            guard let confirm = InquiryPolicy.Confirm(text) else {
                throw ConfigurationError(
                    "--confirm must be 'unheard', 'all', 'sample=PERCENT' or 'none', and is '\(text)'")
            }
            policy.confirm = confirm
        }
        policy.sweepsRefunds = values["--refund-sweep"] != nil
        return policy
    }

    init(
        _ path: String, _ file: AskAppleFile, _ ledger: PurchaseLedger, _ verifier: AppStoreVerifier, _ log: ServiceLog
    ) {
        (self.file, self.verifier, self.log) = (path, verifier, log)
        let findings = FindingLog(log)
        var options = Reconciler.Options(ledger.policy.surroundings)
        options.onFinding = { findings.write($0) }
        reconciler = Reconciler(ledger, file.askers.map(\.app), options)
    }

    /// The apps and environments for which Apple is queried.
    var askedApps: [AskedApp] { reconciler.apps.map(\.app) }

    /// Reloads the file and its keys. If any of them is invalid, all current ones stay in force.
    func reload() {
        func refuse(_ message: String) { log.write(.error, "ask-apple-not-reloaded", [("message", .text(message))]) }
        do throws(AskAppleFault) {
            let new = try AskAppleFile(file, verifier).askers.map(\.app)
            guard Set(new.map(\.app)) == Set(askedApps) else {
                return refuse("other apps or environments need a restart")
            }
            reconciler.replace(new)
            log.write(.info, "ask-apple-reloaded")
        } catch {
            refuse(error.description)
        }
    }
}
