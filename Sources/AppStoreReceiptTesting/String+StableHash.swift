package import SeededRandom

/// The tests of this package import this module.
package typealias SeededGenerator = SeededRandom.SeededGenerator

extension String {
    /// FNV-1a: the same for the same text, everywhere.
    var stableHash: UInt64 {
        utf8.reduce(0xCBF2_9CE4_8422_2325) { hash, byte in (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }
}
