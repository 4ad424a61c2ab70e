import Foundation

/// The maximum allocations of each task: lines of `task purchases allocations`, `#` for comments.
struct Thresholds {
    private var limits: [String: Int] = [:]

    static var file: URL {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../allocations.txt")
    }

    init(contentsOf file: URL) throws {
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") where !line.hasPrefix("#") {
            let words = line.split(separator: " ")
            guard words.count == 3, let limit = Int(words[2]) else { throw BenchmarkError.thresholds(String(line)) }
            limits["\(words[0]) \(words[1])"] = limit
        }
    }

    /// libcrypto's own work, which depends on a run's inputs.
    private static let baselines: Set<String> = ["floor", "cms-verify", "tlv-walk", "jws-floor"]

    /// One line for each measurement of ours that is above its threshold, or has none.
    func violations(_ measurements: [Measurement]) -> [String] {
        measurements.compactMap { measurement in
            guard !Self.baselines.contains(measurement.task), !measurement.task.hasPrefix("floor-threads")
            else {
                return nil
            }
            let key = "\(measurement.task) \(measurement.purchases)"
            guard let limit = limits[key] else { return "\(key) \(measurement.allocations) has no threshold" }
            return measurement.allocations > limit ? "\(key) \(measurement.allocations) is above \(limit)" : nil
        }
    }
}
