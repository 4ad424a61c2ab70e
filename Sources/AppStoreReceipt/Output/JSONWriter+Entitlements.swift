import StrictText

extension JSONWriter {
    /// `{"schema":1,"at":…,"items":[…]}`, where each transaction is one item. The caller ends the object.
    mutating func beginEntitlements(_ entitlements: Entitlements) {
        beginObject()
        name("schema")
        integer(Self.schema)
        name("at")
        date(entitlements.date)
        name("items")
        beginArray()
        for item in entitlements.items { self.item(item) }
        endArray()
    }

    private mutating func item(_ item: Entitlements.Item) {
        let purchase = item.purchase
        beginObject()
        for field in Purchase.identifiers { field.show(purchase, &self) }
        name("access")
        string(item.access.code)
        name("gives_access")
        bool(item.access.givesAccess)
        name("grantable")
        bool(item.access.isGrantable)
        name("until")
        if let until = item.until { date(until) } else { null() }
        name("quantity")
        if case .consumable(let quantity) = item.access {
            integer(Int64(quantity))
        } else {
            integer(Int64(purchase.quantity))
        }
        if purchase.productType != nil {
            name("product_type_source")
            // A stated length does not make the type less Apple's own.
            string(item.isTypeStated ? "setting" : "evidence")
        }
        for (key, type) in [
            ("stated_product_type", item.statedType), ("contradicted_product_type", item.contradictedType),
        ]
            as [(StaticString, StatedProductType?)]
        {
            guard let type else { continue }
            name(key)
            string(type.description)
        }
        for field in Purchase.details { field.show(purchase, &self) }
        endObject()
    }
}

extension Entitlements {
    /// The entitlements as one line of JSON: `{"schema":1,"at":…,"items":[…]}`.
    ///
    /// Each transaction is one item:
    /// `{"transaction_id":…,"original_transaction_id":…,"product_id":…,"access":…,"gives_access":…,"grantable":…,"until":…,"quantity":…}`, and `product_type`,
    /// `product_type_source` (`evidence` or `setting`), `stated_product_type`, `contradicted_product_type`, `purchase_date`,
    /// `expires_date`, `web_order_line_item_id`, `subscription_group_id`, `ownership_type`, `app_account_token`, `bundle_id` and `environment` if they are known. `access`
    /// is an ``Access/code``, `gives_access` is ``Access/givesAccess``, and `grantable` is ``Access/isGrantable``. `until` is ``Item/until`` or `null`. Dates are in RFC 3339.
    public var json: String {
        var writer = JSONWriter()
        writer.beginEntitlements(self)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
