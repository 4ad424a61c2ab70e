/// SplitMix64: the same numbers for the same seed, everywhere.
package struct SeededGenerator: RandomNumberGenerator, CustomStringConvertible {
    package let seed: UInt64
    private var state: UInt64

    package init(seed: UInt64) {
        self.seed = seed
        state = seed
    }

    /// With a random seed, which is printed: a test must be repeatable.
    package init(_ test: String = #function) {
        self.init(seed: .random(in: .min ... .max))
        print("\(test): \(self)")
    }

    package var description: String { "seed \(seed)" }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }

    package mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) }
    }
}

extension String {
    /// FNV-1a: the same for the same text, everywhere.
    var stableHash: UInt64 {
        utf8.reduce(0xCBF2_9CE4_8422_2325) { hash, byte in (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }
}
