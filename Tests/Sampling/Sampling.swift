import Foundation

/// How much of its work a long test does, by the table `Tests/samples.tsv`, and the seed that chooses which part.
public enum Sampling {
    /// The columns of the table.
    public enum Extent: String, Sendable { case quick, sample, all, long }

    /// The column of this run, which `RECEIPT_EXTENT` names.
    public static let extent: Extent = {
        guard let name = ProcessInfo.processInfo.environment["RECEIPT_EXTENT"] else { return .sample }
        guard let extent = Extent(rawValue: name) else {
            preconditionFailure("RECEIPT_EXTENT names no column: \(name)")
        }
        return extent
    }()

    /// Whether tests run that take seconds even if they do a small part of their work: most wait for a timeout or a
    /// process.
    public static let runsSlowTests = extent != .quick

    /// The seed of this run: `RECEIPT_SEED`, or a new one. It is printed, so that a run can be repeated.
    public static let seed: UInt64 = {
        let named = ProcessInfo.processInfo.environment["RECEIPT_SEED"].flatMap { UInt64($0) }
        let seed = named ?? .random(in: .min ... .max)
        print("samples: RECEIPT_EXTENT=\(extent) RECEIPT_SEED=\(seed)")
        return seed
    }()

    private static let table: [String: Int] = {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../samples.tsv")
        guard let text = try? String(contentsOf: file, encoding: .utf8) else { return [:] }
        let rows = text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { $0.split(separator: "\t") }
        guard let names = rows.first, let column = names.firstIndex(of: Substring(extent.rawValue)) else { return [:] }
        return Dictionary(uniqueKeysWithValues: rows.dropFirst().map { (String($0[0]), Int($0[column]) ?? 0) })
    }()

    /// The number of a row in the column of this run.
    public static func count(_ name: String) -> Int {
        guard let count = table[name] else { preconditionFailure("Tests/samples.tsv has no row \(name)") }
        return count
    }

    /// Returns every nth element, where n is the number of a row. The seed chooses the first one.
    public static func share<Elements: Collection>(_ elements: Elements, of name: String) -> [Elements.Element] {
        let divisor = count(name)
        // FNV-1a of the name, so that rows with the same n begin at different elements.
        let hash = name.utf8.reduce(seed ^ 0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        let first = Int((hash >> 32) % UInt64(divisor))
        let chosen = elements.enumerated().filter { $0.offset % divisor == first }.map(\.element)
        // A collection shorter than n still has one element tried.
        return chosen.isEmpty ? Array(elements.prefix(1)) : chosen
    }
}
