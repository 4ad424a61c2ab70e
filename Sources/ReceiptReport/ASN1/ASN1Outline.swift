package import SpanASN1

/// The structure of BER, element by element, including the structure inside OCTET STRINGs and BIT STRINGs, with the
/// names of a receipt's attributes.
///
/// It has no recursion: one level is stored for each open element.
package enum ASN1Outline {
    /// An element on its line.
    package struct Node {
        package let depth: Int
        package let tag: ASN1Tag
        package let offset: Int
        package let contentOffset: Int
        /// The length; `nil` for an indefinite length.
        package let contentCount: Int?
        /// The range of the content in the input; `nil` for an indefinite length.
        package let content: Range<Int>?

        package var isString: Bool { tag.asPrimitive == .octetString }
    }

    /// A level: the element that contains the elements of a depth.
    package struct Level {
        package var role = Role.none
        /// The end of the level; `nil` if no length states it, or if the input ends before.
        package var end: Int?
    }

    /// The state of the outline at a position.
    package struct State {
        /// The open levels. `levels[n]` contains the elements of depth *n*.
        package var levels = [Level(role: .wrapped)]
        var purchaseCount = 0

        package init() {}
    }

    /// The maximum depth. Receipts that Apple signed have at most fourteen levels.
    package static let maximumDepth = 64

    package static func limits(depth: Int) -> ASN1Limits {
        ASN1Limits(maximumDepth: depth, maximumElementCount: .max, maximumByteCount: .max)
    }
}
