import StrictText

extension JSONWriter {
    /// `{"schema":1,"at":…,"items":[…]}`, where each transaction is one item. The caller adds members of its own and ends the object.
    package mutating func beginEntitlements(_ entitlements: Entitlements) {
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
        name("transaction_id")
        string(purchase.transactionID)
        name("original_transaction_id")
        string(purchase.originalTransactionID)
        name("product_id")
        string(purchase.productID)
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
        member("product_type", purchase.productType?.rawValue)
        name("purchase_date")
        date(purchase.purchaseDate)
        if let date = purchase.expiresDate {
            name("expires_date")
            self.date(date)
        }
        member("web_order_line_item_id", purchase.webOrderLineItemID)
        member("subscription_group_id", purchase.subscriptionGroupID)
        member("ownership_type", purchase.ownershipType?.rawValue)
        member("app_account_token", purchase.appAccountToken?.description)
        member("bundle_id", purchase.bundleID)
        member("environment", purchase.environment?.rawValue)
        endObject()
    }

    private mutating func member(_ name: StaticString, _ value: String?) {
        guard let value else { return }
        self.name(name)
        string(value)
    }
}

extension Entitlements {
    /// The entitlements as one line of JSON: `{"schema":1,"at":…,"items":[…]}`.
    ///
    /// Each transaction is one item:
    /// `{"transaction_id":…,"original_transaction_id":…,"product_id":…,"access":…,"gives_access":…,"grantable":…,"until":…,"quantity":…}`, and `product_type`, `purchase_date`,
    /// `expires_date`, `web_order_line_item_id`, `subscription_group_id`, `ownership_type`, `app_account_token`, `bundle_id` and `environment` if they are known. `access`
    /// is an ``Access/code``, `gives_access` is ``Access/givesAccess``, and `grantable` is ``Access/isGrantable``. `until` is ``Item/until`` or `null`. Dates are in RFC 3339.
    public var json: String {
        var writer = JSONWriter()
        writer.beginEntitlements(self)
        writer.endObject()
        return String(decoding: writer.bytes, as: UTF8.self)
    }
}
