import StrictText

extension JSONWriter {
    /// `{"schema":1,"at":…,"next_change":…,"items":[…]}`, where each transaction is one item. Without items, it has
    /// `"nothing":…` after them. The caller ends the object.
    mutating func beginEntitlements(_ entitlements: Entitlements) {
        beginObject()
        member("schema", Self.schema)
        member("at", entitlements.date)
        name("next_change")
        if let date = entitlements.nextChange { self.date(date) } else { null() }
        objects("items", entitlements.items) { writer, item in
            for field in Purchase.identifiers { field.show(item.purchase, &writer) }
            for (_, write) in Entitlements.Item.decision { write(item, &writer) }
            for field in Purchase.details { field.show(item.purchase, &writer) }
        }
        member("nothing", ifAny: entitlements.nothing?.rawValue)
    }
}

extension Entitlements.Item {
    /// The members of its JSON.
    @_spi(Surfaces) public static var members: [OutputMember] {
        Purchase.identifiers.map(\.output) + decision.map(\.member) + Purchase.details.map(\.output)
    }

    fileprivate typealias Member = (member: OutputMember, write: @Sendable (Self, inout JSONWriter) -> Void)

    /// The members that are decided, or are there also without a value.
    fileprivate static let decision: [Member] = [
        member(
            "purchase_key", .text, isOptional: true,
            "The key under which the purchase or period is granted once; none without an original transaction id."
        ) {
            if let key = $0.purchaseKey { $1.string(key) } else { $1.null() }
        },
        member(
            "former_purchase_keys", .texts,
            "Keys that the purchase can have had before. One counts only where the same account was granted under it."
        ) { item, writer in
            writer.beginArray()
            for key in item.formerPurchaseKeys { writer.string(key) }
            writer.endArray()
        },
        member(
            "access", .word(.access), "`active`, `owned`, `consumable`, or the reason it gives no access."
        ) { $1.string($0.access.code) },
        member(
            "gives_access", .flag,
            "Whether the product may be used at the date. A consumable gives no access that lasts."
        ) { $1.bool($0.access.givesAccess) },
        member(
            "grantable", .flag,
            "Whether the transaction can be granted, once: it gives access, or is a consumable with a quantity of at least 1."
        ) { $1.bool($0.access.isGrantable) },
        member(
            "reason", .word(.reason), isOptional: true, "Why the purchase gives nothing; none if it gives something."
        ) {
            if let reason = $0.reason { $1.string(reason.rawValue) } else { $1.null() }
        },
        member(
            "until", .date, isOptional: true, "The date access ends; none if it has no end, or if that is not known."
        ) {
            if let date = $0.accessEndDate { $1.date(date) } else { $1.null() }
        },
        member(
            "next_change", .date, isOptional: true,
            "When to decide again: the purchase begins, or a refund that is dated ahead comes into effect."
        ) {
            if let date = $0.nextChange { $1.date(date) } else { $1.null() }
        },
        member(
            "quantity", .number,
            "What is left of the purchase: 0 if it is revoked; of a subscription that renews 1, also after its end."
        ) { $1.integer(Int64($0.quantity)) },
        number("purchased_quantity", "The quantity that Apple signed; of a subscription that renews, the seats.") {
            $0.purchasedQuantity
        },
        number("seats", "The seats that the transaction bought, less those that were refunded; none for members.") {
            $0.seats
        },
        number("period_seats", "The seats of the period, which has several transactions if seats were added.") {
            $0.periodSeats
        },
        member(
            "length", .text, isOptional: true,
            "How long a non-renewing subscription lasts: `unknown`, or as it is stated, such as `P30D`; none for other products."
        ) {
            if let length = $0.length { $1.string(length.code) } else { $1.null() }
        },
        (
            OutputMember(
                nullText: "app_transaction_id",
                "Who bought the app: one id for each Apple Account, also of a family member; none if it is not signed."),
            { item, writer in
                writer.name("app_transaction_id")
                if let id = item.purchase.appTransactionID { writer.string(id) } else { writer.null() }
            }
        ),
        // A stated length does not make the type less Apple's own.
        optional(
            "product_type_source", .word(.productTypeSource),
            "Who says the type of the product: the evidence, or only the option `product_types`."
        ) { item in item.purchase.productType.map { _ in item.isTypeStated ? "setting" : "evidence" } },
        optional(
            "stated_product_type", .text, "What the option `product_types` says, if it counts."
        ) { $0.statedType?.description },
        optional(
            "contradicted_product_type", .text,
            "What the option `product_types` says and the evidence contradicts. The evidence counts."
        ) { $0.contradictedType?.description },
    ]

    private static func member(
        _ name: StaticString, _ kind: OutputMember.Kind, isOptional: Bool = false, _ meaning: String = "",
        _ write: @escaping @Sendable (Self, inout JSONWriter) -> Void
    ) -> Member {
        var output = OutputMember("\(name)", kind, isOptional: isOptional, meaning)
        output.isNull = isOptional
        return (
            output,
            { item, writer in
                writer.name(name)
                write(item, &writer)
            }
        )
    }

    /// A number, or `null`.
    private static func number(
        _ name: StaticString, _ meaning: String, _ number: @escaping @Sendable (Self) -> Int?
    ) -> Member {
        member(name, .number, isOptional: true, meaning) {
            if let number = number($0) { $1.integer(Int64(number)) } else { $1.null() }
        }
    }

    /// A member that is missing if there is no text.
    private static func optional(
        _ name: StaticString, _ kind: OutputMember.Kind, _ meaning: String,
        _ text: @escaping @Sendable (Self) -> String?
    ) -> Member {
        (OutputMember("\(name)", kind, isOptional: true, meaning), { $1.member(name, ifAny: text($0)) })
    }
}

extension Entitlements {
    /// The entitlements as one line of JSON: `{"schema":1,"at":…,"next_change":…,"items":[…]}`. Without items, it has
    /// `nothing`, the raw value of ``nothing-swift.property``.
    ///
    /// Each transaction is one item with `transaction_id`, `original_transaction_id`, `product_id`, `purchase_key`,
    /// `former_purchase_keys`, `access`, `gives_access`, `grantable`, `reason`, `until`, `next_change`, `quantity`,
    /// `purchased_quantity`, `seats`, `period_seats` and `length`, and `product_type`,
    /// `product_type_source` (`evidence` or `setting`), `stated_product_type`, `contradicted_product_type`,
    /// `purchase_date`, `expires_date`, `web_order_line_item_id`, `subscription_group_id`,
    /// `additional_transaction_reason`, `ownership_type`, `app_account_token`, `bundle_id` and `environment` if they
    /// are known. `app_transaction_id` is `null` if the evidence does not say it. `purchase_key` is ``Item/purchaseKey``
    /// or `null`. `access` is an ``Access/code``, `gives_access` is ``Access/givesAccess``, and `grantable` is
    /// ``Access/isGrantable``. `until` is ``Item/accessEndDate`` or `null`, and so are `reason`, `next_change`,
    /// `purchased_quantity`, `seats`, `period_seats` and `length` (``Length/code``). Dates are in RFC 3339.
    public var json: String {
        JSONWriter.text { writer in
            writer.beginEntitlements(self)
            writer.endObject()
        }
    }
}
