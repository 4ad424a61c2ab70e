import Instants
import StrictText

extension Subscription {
    /// The members of its JSON.
    @_spi(Surfaces) public static var members: [OutputMember] { fields.map(\.member) }

    /// The members of the JSON of the offer for the next period.
    @_spi(Surfaces) public static var offerMembers: [OutputMember] { offerFields.map(\.member) }

    static let fields: [OutputField<Subscription>] = [
        .member(
            "original_transaction_id", .text,
            "The original transaction; after a migration, the latest one."
        ) { $1.string($0.originalTransactionID) },
        .word("environment", .environment, "The environment of the subscription. Nobody pays in the sandbox.") {
            $0.environment?.rawValue
        },
        .text("bundle_id", "The app.") { $0.bundleID },
        .member("product_id", .text, "The product of the period that decides.") { $1.string($0.productID) },
        .text("subscription_group_id", "The subscription group; none if it is not signed.") { $0.groupID },
        .member("gives_access", .flag, "Whether the subscription gives access at the date.") { $1.bool($0.isActive) },
        .date(
            "until", "The date access ends or ended, with the periods that follow the current one without a gap."
        ) { $0.expiresDate },
        .flag(
            "will_renew",
            "Whether the subscription will renew. This and what follows is what Apple signed last; none where nothing is known."
        ) {
            $0.willRenew
        },
        .text("renews_as", "The product of the next period, if the subscription renews.") { $0.renewal?.nextProductID },
        .date("renewal_date", "The date Apple will charge for the next period.") { $0.renewal?.renewalDate },
        .number("renews_as_seats", "The seats of the next period.") { $0.renewal?.renewalQuantity },
        .flag(
            "in_grace_period", "Whether access continues after the end of the period while Apple tries to charge."
        ) { $0.renewal == nil ? nil : $0.isInGracePeriod },
        .date("grace_period_expires_date", "The end of the billing grace period; none if there is none.") {
            $0.renewal?.gracePeriodExpiresDate
        },
        .flag("in_billing_retry", "Whether Apple is still trying to charge for the next period.") {
            $0.renewal?.isInBillingRetryPeriod
        },
        .word(
            "price_increase", .priceIncrease,
            "`none`, `pending`, or `agreed-or-notified`: the customer agreed, or was notified where no consent is required."
        ) { $0.priceIncrease?.rawValue },
        .number("renewal_price", "The price of the next period, in thousandths of the unit of the currency.") {
            $0.renewal?.renewalPrice
        },
        .text("renewal_currency", "The currency, as an ISO 4217 code.") { $0.renewal?.currency },
        .word(
            "expiration_intent", .expirationIntent,
            "Why the subscription expired; none if it has not expired. `price-increase-declined` also covers the price that follows an offer."
        ) { $0.expirationReason?.rawValue },
        .member(
            "renewal_offer", .object("RenewalOffer"), isOptional: true,
            "The offer for the next period; none without one."
        ) { subscription, writer in
            guard let offer = subscription.renewal?.offer else { return writer.null() }
            writer.beginObject()
            for field in offerFields { field.write(offer, &writer) }
            writer.endObject()
        },
        .date("as_of", "The date Apple signed what is known of the renewal. It ages.") { $0.renewal?.signedDate },
    ]

    private static let offerFields: [OutputField<PurchaseOffer>] = [
        .number(
            "type",
            "The number that Apple signs: 1 introductory, 2 promotional, 3 offer code, 4 win-back, 5 retention."
        ) { $0.type?.rawValue },
        .text("id", "The code of the offer, or the identifier of a promotional offer.") { $0.id },
    ]
}
