import Foundation

/// The results of a run in the forms in which they are printed.
struct Report {
    var measurements: [Measurement]

    // MARK: For programs

    private struct Row: Encodable {
        let task: String
        let purchases, bytes: Int
        let median_ns, min_ns: Double
        let ratio_to_floor: Double?
        let allocations, peak_rss_bytes: Int
    }

    func json() throws -> String {
        let rows = measurements.map {
            Row(
                task: $0.task, purchases: $0.purchases, bytes: $0.bytes,
                median_ns: $0.medianNanoseconds.rounded(), min_ns: $0.minimumNanoseconds.rounded(),
                ratio_to_floor: $0.ratioToFloor.map { ($0 * 1000).rounded() / 1000 },
                allocations: $0.allocations, peak_rss_bytes: $0.peakResidentBytes)
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        return String(decoding: try encoder.encode(rows), as: UTF8.self)
    }

    // MARK: For people

    func table() -> String {
        let header = [
            "task", "purchases", "bytes", "median ns", "min ns", "MB/s", "ns/purchase", "× floor", "allocations",
            "peak KiB",
        ]
        let rows = measurements.map { measurement in
            [
                measurement.task, "\(measurement.purchases)", "\(measurement.bytes)",
                Self.number(measurement.medianNanoseconds), Self.number(measurement.minimumNanoseconds),
                Self.number(Double(measurement.bytes) / measurement.medianNanoseconds * 1000),
                measurement.purchases == 0
                    ? "–" : Self.number(measurement.medianNanoseconds / Double(measurement.purchases)),
                measurement.ratioToFloor.map { Self.number($0, 2) } ?? "–", "\(measurement.allocations)",
                "\(measurement.peakResidentBytes / 1024)",
            ]
        }
        let widths = header.indices.map { column in ([header] + rows).map { $0[column].count }.max() ?? 0 }
        return ([header] + rows).map { row in
            row.indices.map { column in
                let padding = String(repeating: " ", count: widths[column] - row[column].count)
                return column == 0 ? row[column] + padding : padding + row[column]
            }.joined(separator: "  ")
        }.joined(separator: "\n")
    }

    private static func number(_ value: Double, _ digits: Int = 0) -> String {
        String(format: "%.\(digits)f", value)
    }

    static var machine: String {
        let description = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let model = description.split(separator: "\n").first { $0.hasPrefix("model name") }?
            .split(separator: ":").last?.trimmingCharacters(in: .whitespaces)
        return
            "\(model ?? "an unknown processor"), \(ProcessInfo.processInfo.activeProcessorCount) cores, \(Baselines.libcryptoVersion)"
    }
}
