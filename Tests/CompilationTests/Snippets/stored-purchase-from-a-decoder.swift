// Trust is not decoded from where anyone can have written: it is an initialiser that says so.
import AppStoreReceipt

func restore<Value: Decodable>(_ type: Value.Type, _ decoder: any Decoder) throws -> Value { try Value(from: decoder) }

func restore(_ decoder: any Decoder) throws {
    #if CONTROL
    _ = StoredPurchase(trusting: try restore(Purchase.self, decoder))
    #else
    // error: global function 'restore' requires that 'StoredPurchase' conform to 'Decodable'
    _ = try restore(StoredPurchase.self, decoder)
    #endif
}
