/// A line of the table of tampering (`scripts/tamper-table`): how many changes of a kind were tried, and where those lay that did not matter.
struct TamperingRow {
    let change: String
    var count: Int
    /// By the region outside what is signed.
    var harmless: [String: Int] = [:]

    init(_ change: String, count: Int = 0) {
        self.change = change
        self.count = count
    }

    func print() {
        let verified = harmless.values.reduce(0, +)
        let regions = harmless.sorted { $0.key < $1.key }.map { "\($0.value) in \($0.key)" }.joined(separator: ", ")
        Swift.print("| \(change) | \(count) | \(count - verified) | \(regions.isEmpty ? "none" : regions) |")
    }
}
