public import StrictText

extension JSONWriter {
    /// `{"schema":1,"at":…,"next_change":…,"items":[…],"subscriptions":[…]}`, where each transaction is one item.
    /// Without items, it has `"nothing":…` after them. The caller ends the object.
    mutating func beginEntitlements(_ entitlements: Entitlements) {
        beginObject()
        member("schema", Self.schema)
        member("at", entitlements.date)
        name("next_change")
        if let date = entitlements.nextChange { self.date(date) } else { null() }
        objects("items", entitlements.items) { writer, item in
            for field in Purchase.identifiers { field.show(item.purchase, &writer) }
            for field in Entitlements.Item.decision { field.write(item, &writer) }
            for field in Purchase.details { field.show(item.purchase, &writer) }
        }
        objects("subscriptions", entitlements.subscriptions) { writer, subscription in
            for field in Subscription.fields { field.write(subscription, &writer) }
        }
        member("nothing", ifAny: entitlements.nothing?.rawValue)
    }
}

extension Entitlements.Item {
    /// The members of its JSON.
    @_spi(Surfaces) public static var members: [OutputMember] {
        Purchase.identifiers.map(\.output) + decision.map(\.member) + Purchase.details.map(\.output)
    }

    /// The members that are decided, or are `null` without a value.
    fileprivate static let decision: [OutputField<Self>] = [
        .text(
            "purchase_key",
            "The key under which the purchase or period is granted once; none without an original transaction id."
        ) { $0.purchaseKey },
        .member(
            "former_purchase_keys", .texts,
            "Keys that the purchase can have had before. One counts only where the same account was granted under it."
        ) { item, writer in
            writer.beginArray()
            for key in item.formerPurchaseKeys { writer.string(key) }
            writer.endArray()
        },
        .member(
            "access", .word(.access), "`active`, `owned`, `consumable`, or the reason it gives no access."
        ) { $1.string($0.access.code) },
        .member(
            "gives_access", .flag,
            "Whether the product may be used at the date. A consumable gives no access that lasts."
        ) { $1.bool($0.access.givesAccess) },
        .member(
            "grantable", .flag,
            "Whether the transaction can be granted, once: it gives access, or is a consumable with a quantity of at least 1."
        ) { $1.bool($0.access.isGrantable) },
        .word("reason", .reason, "Why the purchase gives nothing; none if it gives something.") {
            $0.reason?.rawValue
        },
        .date("until", "The date access ends; none if it has no end, or if that is not known.") { $0.accessEndDate },
        .date(
            "next_change",
            "When to decide again: the purchase begins, or a refund that is dated ahead comes into effect."
        ) { $0.nextChange },
        .member(
            "quantity", .number,
            "What is left of the purchase: 0 if it is revoked; of a subscription that renews 1, also after its end."
        ) { $1.integer(Int64($0.quantity)) },
        .number("purchased_quantity", "The quantity that Apple signed; of a subscription that renews, the seats.") {
            $0.purchasedQuantity
        },
        .number("seats", "The seats that the transaction bought, less those that were refunded; none for members.") {
            $0.seats
        },
        .number("period_seats", "The seats of the period, which has several transactions if seats were added.") {
            $0.periodSeats
        },
        .text(
            "length",
            "How long a non-renewing subscription lasts: `unknown`, or as it is stated, such as `P30D`; none for other products."
        ) { $0.length?.code },
        .text(
            "app_transaction_id",
            "Who bought the app: one id for each Apple Account, also of a family member; none if it is not signed."
        ) { $0.purchase.appTransactionID },
        .number(
            "price",
            "The price in thousandths of the unit of the currency: of a subscription that renews, the average of a seat. It does not reconcile revenue."
        ) { $0.purchase.price },
        .text("currency", "The currency, as an ISO 4217 code.") { $0.purchase.currency },
        .text("storefront", "The country or region of the App Store, as an ISO 3166 code of three letters.") {
            $0.purchase.storefront
        },
        // A stated length does not change the source of the type.
        .missing(
            "product_type_source", .word(.productTypeSource),
            "Who says the type of the product: the evidence, or only the option `product_types`."
        ) { item in item.purchase.productType.map { _ in item.isTypeStated ? "setting" : "evidence" } },
        .missing(
            "stated_product_type", .text, "What the option `product_types` says, if it counts."
        ) { $0.statedType?.description },
        .missing(
            "contradicted_product_type", .text,
            "What the option `product_types` says and the evidence contradicts. The evidence counts."
        ) { $0.contradictedType?.description },
    ]
}

extension Entitlements {
    /// The entitlements as one line of JSON:
    /// `{"schema":1,"at":…,"next_change":…,"items":[…],"subscriptions":[…]}`. Without items, it has `nothing`, the raw
    /// value of ``nothing-swift.property``.
    ///
    /// Each transaction is one item with `transaction_id`, `original_transaction_id`, `product_id`, `purchase_key`,
    /// `former_purchase_keys`, `access`, `gives_access`, `grantable`, `reason`, `until`, `next_change`, `quantity`,
    /// `purchased_quantity`, `seats`, `period_seats` and `length`, and `product_type`, `product_type_source`
    /// (`evidence` or `setting`), `stated_product_type`, `contradicted_product_type`, `purchase_date`, `expires_date`,
    /// `web_order_line_item_id`, `subscription_group_id`, `additional_transaction_reason`, `ownership_type`,
    /// `app_account_token`, `bundle_id` and `environment` if they are known. `app_transaction_id`, `price`, `currency`
    /// and `storefront` are `null` if the evidence does not say them. `purchase_key` is ``Item/purchaseKey`` or `null`.
    /// `access` is an ``Access/code``, `gives_access` is ``Access/givesAccess``, and `grantable` is
    /// ``Access/isGrantable``. `until` is ``Item/accessEndDate`` or `null`, and so are `reason`, `next_change`,
    /// `purchased_quantity`, `seats`, `period_seats` and `length` (``Length/code``).
    ///
    /// Each of ``subscriptions`` is one object, whose members <doc:JSONFormats> lists. Dates are in RFC 3339.
    public var json: String { String(decoding: jsonUTF8 { _ in }, as: UTF8.self) }

    /// The same as UTF-8, with members of a surface after the others.
    @_spi(Surfaces) public func jsonUTF8(adding writeMembers: (inout JSONWriter) -> Void) -> [UInt8] {
        JSONWriter.utf8 { writer in
            writer.beginEntitlements(self)
            writeMembers(&writer)
            writer.endObject()
        }
    }
}
