#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// SplitMix64: the same numbers for the same seed, everywhere (Steele, Lea, Flood: Fast splittable pseudorandom number
/// generators, 2014).
public struct SeededGenerator: RandomNumberGenerator, CustomStringConvertible {
    public let seed: UInt64
    private var state: UInt64

    public init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// Takes the seed from `RECEIPT_SEED`, or a random one, and prints it, so that a failure can be repeated.
    public init(_ test: String = #function) {
        let named = unsafe getenv("RECEIPT_SEED").map { unsafe String(cString: $0) }
        let seed = named.map { UInt64($0) } ?? .random(in: .min ... .max)
        precondition(seed != nil, "RECEIPT_SEED is no number")
        self.init(seed: seed ?? 0)
        print("\(test): \(self)")
    }

    public var description: String { "seed \(seed)" }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    public mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
    }
}
