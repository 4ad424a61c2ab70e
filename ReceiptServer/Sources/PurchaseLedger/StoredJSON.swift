@_spi(Ledger) import AppStoreReceipt
import FoundationEssentials

/// The JSON in the tables. Purchases and renewals have the library's own coder, which is many times as fast as
/// Foundation's and writes the same text.
enum StoredJSON {
    static func encode(_ purchase: Purchase) -> String { purchase.storedJSON }

    static func encode(_ renewal: SubscriptionRenewal) -> String { renewal.storedJSON }

    static func decode(_ text: String) throws(LedgerError) -> Purchase {
        do { return try Purchase(storedJSON: text) } catch { throw unreadable }
    }

    static func decode(_ text: String) throws(LedgerError) -> SubscriptionRenewal {
        do { return try SubscriptionRenewal(storedJSON: text) } catch { throw unreadable }
    }

    static func encode(_ value: some Encodable) throws(LedgerError) -> String {
        let encoder = JSONEncoder()
        // The same value has the same text.
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        do {
            return String(decoding: try encoder.encode(value), as: UTF8.self)
        } catch {
            throw LedgerError(.storeFailed, "cannot be written as JSON")
        }
    }

    static func decode<Value: Decodable>(_ text: String) throws(LedgerError) -> Value {
        do {
            return try JSONDecoder().decode(Value.self, from: Data(text.utf8))
        } catch {
            throw unreadable
        }
    }

    private static var unreadable: LedgerError {
        LedgerError(.storeFailed, "a row has JSON that the ledger did not write")
    }
}
