// A stored receipt is a plain value: trust is not decoded from where anyone can have written.
import AppStoreReceipt

func restore<Value: Decodable>(_ type: Value.Type, _ decoder: any Decoder) throws -> Value { try Value(from: decoder) }

func restore(_ decoder: any Decoder) throws {
    #if CONTROL
    _ = try restore(Receipt.self, decoder)
    #else
    // error: global function 'restore' requires that 'VerifiedReceipt' conform to 'Decodable'
    _ = try restore(VerifiedReceipt.self, decoder)
    #endif
}
