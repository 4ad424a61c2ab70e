import Instants
import StrictText

extension TransactionReceipt {
    /// The transaction receipt as a JSON object.
    ///
    /// The keys are those of ``Receipt/json`` where it has them. Dates are in RFC 3339, ids are strings. `environment`
    /// is inferred, which `environment_is_inferred` says; both are missing if it is unknown. Keys of `purchase-info`
    /// without a property are in `unknown_keys`.
    public var json: String { JSONWriter.text(write) }

    /// A value of the JSON.
    private enum Value {
        case string(String)
        case date(Instant)
        case integer(Int)
        case flag(Bool)
    }

    /// The known values that are there, under the names of the JSON.
    private var known: [(name: StaticString, value: Value)] {
        var fields: [(StaticString, Value)] = [("version", .integer(version.rawValue))]
        func add(_ name: StaticString, _ value: Value?) { if let value { fields.append((name, value)) } }
        add("environment", inferredEnvironment.map { .string($0.rawValue) })
        add("environment_is_inferred", inferredEnvironment.map { _ in .flag(true) })
        add("bundle_id", .string(bundleID))
        add("application_version", applicationVersion.map(Value.string))
        add("app_item_id", appItemID.map(Value.string))
        add("version_external_identifier", versionExternalIdentifier.map(Value.string))
        add("quantity", .integer(quantity))
        add("product_id", .string(productID))
        add("item_id", itemID.map(Value.string))
        add("transaction_id", .string(transactionID))
        add("original_transaction_id", .string(originalTransactionID))
        add("purchase_date", .date(purchaseDate))
        add("original_purchase_date", originalPurchaseDate.map(Value.date))
        add("expires_date", expiresDate.map(Value.date))
        add("web_order_line_item_id", webOrderLineItemID.map(Value.string))
        add("subscription_group_identifier", subscriptionGroupID.map(Value.string))
        add("is_trial_period", isTrialPeriod.map(Value.flag))
        add("is_in_intro_offer_period", isInIntroOfferPeriod.map(Value.flag))
        add("in_app_ownership_type", ownershipType.map { .string($0.rawValue) })
        add("unique_identifier", uniqueIdentifier.map(Value.string))
        add("unique_vendor_identifier", uniqueVendorIdentifier.map(Value.string))
        return fields
    }

    func write(to writer: inout JSONWriter) {
        writer.beginObject()
        for (name, value) in known {
            writer.name(name)
            switch value {
            case .string(let value): writer.string(value)
            case .date(let value): writer.date(value)
            case .integer(let value): writer.integer(Int64(value))
            case .flag(let value): writer.bool(value)
            }
        }
        let unknown = unknownValues
        if !unknown.isEmpty {
            writer.name("unknown_keys")
            writer.beginObject()
            for (key, value) in unknown {
                key.withUTF8Bytes { writer.name(utf8: $0) }
                writer.string(value)
            }
            writer.endObject()
        }
        writer.endObject()
    }

    /// All fields, for people to read.
    var fields: [EvidenceField] {
        let known = known.map { name, value in
            let shown: EvidenceField.Value =
                switch value {
                case .string(let value): .string(value)
                case .date(let value): .date(value)
                case .integer(let value): .json(String(value))
                case .flag(let value): .json(String(value))
                }
            return EvidenceField(name: name.description, value: shown)
        }
        return known + unknownValues.map { EvidenceField(name: $0.key, value: .string($0.value)) }
    }
}

extension VerifiedTransactionReceipt {
    /// The verified transaction receipt as one line of JSON:
    /// `{"verified":true,"schema":1,"trust":{…},"transaction_receipt":{…}}`, with the object of
    /// ``TransactionReceipt/json``.
    public var json: String { VerifiedEvidence.transactionReceipt(self).json }
}
