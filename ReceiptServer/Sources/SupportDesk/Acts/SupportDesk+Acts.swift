@_spi(Surfaces) import AppStoreReceipt
import HTTPService
import PurchaseLedger
import Reconciliation
@_spi(Surfaces) import ReceiptReport
import StrictText

extension SupportDesk {
    /// The result of an action, and the findings that the page then shows.
    private struct Done {
        let words: SupportPhrase
        var slots: [Slot]
        var isFailure = false
        /// Whether the action was recorded. If not, the form can be sent again.
        var isRecorded = true
        let findings: [SupportFinding]

        init(_ words: SupportPhrase, _ slots: Slot..., showing findings: [SupportFinding]) {
            (self.words, self.slots, self.findings) = (words, slots, findings)
        }

        static func didBefore(showing findings: [SupportFinding]) -> Done {
            var done = Done(.didBefore, showing: findings)
            done.isRecorded = false
            return done
        }

        static func failed(
            _ words: SupportPhrase, _ slots: Slot..., showing findings: [SupportFinding], isRecorded: Bool = false
        ) -> Done {
            var done = Done(words, showing: findings)
            (done.slots, done.isFailure, done.isRecorded) = (slots, true, isRecorded)
            return done
        }
    }

    func act(_ request: Request) throws -> Response {
        let (visit, form) = try sender(request)
        guard let act = form.text("act").flatMap(Act.init), let number = form.text("number"),
            // The number is kept, so its size is limited.
            number.utf8.count <= RandomText.byteCount
        else { throw RequestFault.invalid("no act") }
        let done = try done(act, number, form, visit)
        return try show(done.findings, for: visit) { html in
            html.element(.p, .styled(done.isFailure ? "notice bad" : "notice"), .role(.status)) {
                $0.phrase(done.words, done.slots)
            }
        }
    }

    private func done(_ act: Act, _ number: String, _ form: FormBody, _ visit: Visit) throws -> Done {
        let place = place(form)
        guard visit.scopes.contains(act.scope) else {
            return .failed(.actForbidden, .code(act.scope.rawValue), showing: place)
        }
        guard let reason = form.text("reason") else { return .failed(.actNoReason, showing: place) }
        // Check before Apple is queried: no action is taken that can't be recorded.
        guard LedgerText.isStorable(reason) else { return .failed(.actInvalid, .code("reason"), showing: place) }
        // Reloading a page sends its form again.
        switch try sessions.send(number, of: visit.sessionID, at: clock()) {
        case .first: break
        case .repeated: return .didBefore(showing: place)
        case .tooOld: return .failed(.actTooOld, showing: place)
        }
        let done: Done
        do throws(LedgerError) {
            done = try perform(act, number, form, reason, place)
        } catch {
            done =
                switch error.code {
                case .notFound: .failed(.actNotFound, showing: place)
                case .invalidText: .failed(.actInvalid, .text(error.detail), showing: place)
                case .notAdjustable: .failed(.actRefunded, showing: place)
                case .idempotencyKeyReused: .didBefore(showing: place)
                default: .failed(.actFailed, showing: place)
                }
        }
        if done.isRecorded {
            log.write(.info, "support-act", [("act", .text(act.rawValue)), ("request", .text(visit.request.id))])
        } else {
            try sessions.takeBack(number, of: visit.sessionID)
        }
        return done
    }

    private func perform(
        _ act: Act, _ number: String, _ form: FormBody, _ reason: String, _ place: [SupportFinding]
    ) throws(LedgerError) -> Done {
        let now = clock()
        let (account, name) = (form.exactText("account") ?? "", name(form))
        switch act {
        case .sendAgain:
            try ledger.sendAgain(eventID: form.exactText("event") ?? "", reason: reason, at: now)
            return Done(.didSend, showing: place)
        case .transfer:
            guard let name, let to = try recipient(form) else { return .failed(.actNotFound, showing: place) }
            let count = try ledger.transfer(
                from: account, to: to, transactionID: name.transactionID, in: name.environment, of: name.bundleID,
                reason: reason, at: now)
            return Done(.didTransfer, .number(count), .text(to), showing: place)
        case .setQuantity, .followApple:
            guard let name else { return .failed(.actNotFound, showing: place) }
            var change = Adjustment.Change.asSigned(name)
            if act == .setQuantity {
                guard let quantity = quantity(form) else { return .failed(.actNoNumber, showing: place) }
                change = .quantity(name, quantity)
            }
            let answer = try ledger.adjust(Adjustment(change, reason: reason), of: account, at: now)
            return Done(
                .didAdjust, .number(Int(clamping: answer.previousQuantity)), .number(Int(clamping: answer.quantity)),
                showing: place)
        case .grantProduct:
            guard let app = app(form), let product = form.text("product") else {
                return .failed(.actNotFound, showing: place)
            }
            guard let quantity = quantity(form), quantity > 0 else { return .failed(.actNoNumber, showing: place) }
            let answer = try ledger.adjust(
                Adjustment(
                    .product(
                        environment: app.environment, bundleID: app.bundleID, productID: product, quantity: quantity),
                    reason: reason, idempotencyKey: number), of: account, at: now)
            return Done(.didGrant, .text(answer.name.transactionID), showing: [.transaction(answer.name)] + place)
        case .askApple:
            guard let askApple, let name, app(form) != nil else { return .failed(.actNotFound, showing: place) }
            let answer = try askApple(name, form.text("refused").map { $0.hasSameBytes(as: "skip") } ?? false)
            guard answer.kind != .invalid else { return .failed(answer.kind.words, showing: []) }
            // If Apple returned an order's transactions, record the inquiry with them and not with the order's id.
            let asked = name.isAppleOrder && !answer.transactions.isEmpty ? [] : [name]
            try ledger.recordAsking(
                about: asked + answer.transactions.filter { $0 != name }, reason: reason, answer: answer.kind.rawValue,
                at: now)
            let found = place + answer.transactions.map(SupportFinding.transaction)
            switch answer.kind {
            case .recorded: return Done(.didAsk, .number(answer.transactions.count), showing: found)
            case .partial:
                return Done(
                    .didAskPartly, .number(answer.transactions.count), .text(answer.refused.names), showing: found)
            case .refused:
                return .failed(.didRefuse, .text(answer.refused.names), showing: place, isRecorded: true)
            default: return .failed(answer.kind.words, showing: place, isRecorded: true)
            }
        }
    }

    // MARK: Names in a form

    /// Returns the transaction or account that the form's page was about.
    private func place(_ form: FormBody) -> [SupportFinding] {
        if let name = name(form) { return [.transaction(name)] }
        return form.exactText("account").map { [.account($0)] } ?? []
    }

    private func app(_ form: FormBody) -> (environment: AppStoreEnvironment, bundleID: String)? {
        guard let environment = form.text("environment").flatMap(AppStoreEnvironment.init(rawValue:)),
            verifier.policy.acceptedEnvironments.contains(environment), let bundleID = form.exactText("bundle"),
            verifier.policy.bundleIDs?.contains(where: { $0.hasSameBytes(as: bundleID) }) ?? true
        else { return nil }
        return (environment, bundleID)
    }

    private func name(_ form: FormBody) -> TransactionName? {
        guard let environment = form.text("environment").flatMap(AppStoreEnvironment.init(rawValue:)),
            let bundleID = form.exactText("bundle"), let id = form.exactText("id")
        else { return nil }
        return TransactionName(environment: environment, bundleID: bundleID, transactionID: id)
    }

    /// Returns the account that was typed. White space at its ends is kept only if such an account exists; otherwise it
    /// is a typing error.
    private func recipient(_ form: FormBody) throws(LedgerError) -> String? {
        guard let trimmed = form.text("to") else { return nil }
        guard let exact = form.typedText("to"), !exact.hasSameBytes(as: trimmed), LedgerText.isStorable(exact),
            try ledger.history(of: exact, limit: 1) != nil
        else { return trimmed }
        return exact
    }

    private func quantity(_ form: FormBody) -> Int64? {
        guard let text = form.text("quantity"), text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
            let number = Int64(text), number <= 1_000_000
        else { return nil }
        return number
    }
}
