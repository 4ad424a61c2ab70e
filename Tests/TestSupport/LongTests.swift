import Foundation

/// Tests that try everything. They do so where `RECEIPT_LONG_TESTS` is set, which `scripts/test --long` does for `.ci/run`; elsewhere they try a share.
package enum LongTests {
    package static let areOn = ProcessInfo.processInfo.environment["RECEIPT_LONG_TESTS"] != nil

    /// All of the parts into which a test divides its work, or the first.
    package static func parts(_ all: Range<Int>) -> Range<Int> { areOn ? all : all.prefix(1) }

    /// All elements, or one in `divisor`.
    package static func share<Elements: Collection>(_ all: Elements, oneIn divisor: Int) -> [Elements.Element] {
        areOn ? Array(all) : all.enumerated().filter { $0.offset % divisor == 0 }.map(\.element)
    }
}
