/// Where a piece of evidence came from, among several.
package enum EvidencePlace: Hashable, Sendable {
    /// The position among the pieces, counted from 0.
    case index(Int)
    /// The name of a file.
    case file(String)
    /// The number of a line, counted from 1.
    case line(Int)
}
