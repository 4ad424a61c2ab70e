@_spi(Surfaces) public import AppStoreReceipt
import StrictText

/// A sentence about what Apple signed, for every surface that is read by people.
@_spi(Surfaces) public struct SignedSentence: Sendable {
    public let words: any Words
    public let slots: [Slot]

    init(_ words: Phrase, _ slots: Slot...) { (self.words, self.slots) = (words, slots) }

    /// The sentence without markup.
    public func text(in language: Language) -> String {
        words.pieces(in: language).map { piece in
            switch piece {
            case .words(let words): words
            case .slot(let index) where slots.indices.contains(index): slots[index].text(in: language)
            case .slot: ""
            }
        }.joined()
    }
}

extension Slot {
    fileprivate func text(in language: Language) -> String {
        switch self {
        case .text(let value), .sentence(let value): value.printable
        case .number(let number): "\(number)"
        case .date(let date), .localDate(let date): date.description
        case .words(let words): "\(words.text(in: language))"
        case .code(let name): name
        }
    }

    /// An amount of money, such as `4.99 USD`.
    fileprivate static func amount(_ amount: Int64, _ currency: String?) -> Slot {
        .text(Milliunits.text(amount) + (currency.map { " " + $0.prefix(HTMLWriter.shortCount) } ?? ""))
    }

    /// A text from a stranger.
    fileprivate static func short(_ value: String) -> Slot { .text(String(value.prefix(HTMLWriter.shortCount))) }
}

extension Purchase {
    /// What the purchase cost and where it was bought, as Apple signed it.
    @_spi(Surfaces) public var priceSentences: [SignedSentence] {
        var sentences: [SignedSentence] = []
        if let price {
            let isOfSeat = hasSeatPrice && quantity ?? 1 != 1
            let words: Phrase = isOfBuyer ? isOfSeat ? .seatPrice : .price : .buyersPrice
            sentences.append(SignedSentence(words, .amount(price, currency)))
        }
        if let storefront { sentences.append(SignedSentence(.storefront, .short(storefront))) }
        // Otherwise, the price is already the total.
        if hasSeatPrice, let quantity, quantity != 1, let totalPrice {
            sentences.append(SignedSentence(.totalPrice, .number(quantity), .amount(totalPrice, currency)))
        }
        return sentences
    }
}

extension Subscription {
    /// What Apple signed last about the renewal; empty if nothing is known.
    ///
    /// - Parameter slot: Makes the slot of a date.
    @_spi(Surfaces) public func renewalSentences(_ slot: (Instant) -> Slot = Slot.date) -> [SignedSentence] {
        guard let renewal else { return [] }
        var sentences = [SignedSentence(.renewalAsOf, slot(renewal.signedDate))] + nextPeriod(renewal, slot)
        switch priceIncrease {
        case .pending?: sentences.append(SignedSentence(.increasePending))
        case .agreedOrNotified?: sentences.append(SignedSentence(.increaseAgreed))
        case nil, .some: break
        }
        if renewal.isInBillingRetryPeriod == true { sentences.append(SignedSentence(.retrying)) }
        if let end = renewal.gracePeriodExpiresDate {
            sentences.append(SignedSentence(isInGracePeriod ? .inGracePeriod : .gracePeriod, slot(end)))
        }
        let reasons: [ExpirationReason: Phrase] = [
            .cancelled: .expirationCancelled, .billingError: .expirationBilling,
            .priceIncreaseDeclined: .expirationPrice, .productUnavailable: .expirationProduct, .other: .expirationOther,
        ]
        if let phrase = expirationReason.flatMap({ reasons[$0] }) { sentences.append(SignedSentence(phrase)) }
        return sentences
    }

    private func nextPeriod(_ renewal: SubscriptionRenewal, _ slot: (Instant) -> Slot) -> [SignedSentence] {
        switch willRenew {
        case nil: return [SignedSentence(.renewsUnknown)]
        case false?: return [SignedSentence(.renewsOff)]
        case true?: break
        }
        var sentences = [SignedSentence(.renewsOn)]
        if let date = renewal.renewalDate { sentences.append(SignedSentence(.nextCharge, slot(date))) }
        if let product = renewal.nextProductID, !product.hasSameBytes(as: productID) {
            sentences.append(SignedSentence(.renewsAs, .text(product)))
        }
        let seats = renewal.renewalQuantity
        if let seats { sentences.append(SignedSentence(.renewalSeats, .number(seats))) }
        if let price = renewal.renewalPrice {
            sentences.append(
                SignedSentence(
                    seats ?? periods.last?.purchase.quantity ?? 1 != 1 ? .renewalSeatPrice : .renewalPrice,
                    .amount(price, renewal.currency)))
        }
        if let offer = renewal.offer {
            sentences.append(
                offer.id.map { SignedSentence(.renewalOfferID, .phrase(offer.phrase), .text($0)) }
                    ?? SignedSentence(.renewalOffer, .phrase(offer.phrase)))
        }
        return sentences
    }
}

@_spi(Surfaces) extension HTMLWriter {
    /// Writes sentences one after the other.
    public mutating func sentences(_ sentences: [SignedSentence]) {
        for (index, sentence) in sentences.enumerated() {
            if index > 0 { text(" ") }
            phrase(sentence.words, sentence.slots)
        }
    }
}
