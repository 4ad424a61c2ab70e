package import Instants

extension Instant {
    /// `2020-04-01 04:07:39 UTC`
    package var text: String { compactText + " UTC" }

    /// `2020-04-01 04:07:39`
    package var compactText: String {
        String(description.dropLast().map { $0 == "T" ? " " : $0 })
    }
}
