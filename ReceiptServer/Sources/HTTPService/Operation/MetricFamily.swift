import StrictText

/// A metric in the text format of Prometheus (version 0.0.4): one name, and a value for each set of labels.
package struct MetricFamily: Sendable {
    package enum Kind: String, Sendable { case counter, gauge, histogram }

    package struct Sample: Sendable {
        /// The suffix of the family's name: for a histogram, `_bucket`, `_sum` or `_count`.
        let suffix: String
        let labels: [(String, String)]
        let value: String
    }

    let name: String
    let help: String
    let kind: Kind
    var samples: [Sample] = []

    package init(_ kind: Kind, _ name: String, _ help: String) {
        self.name = name
        self.help = help
        self.kind = kind
    }

    package init(_ kind: Kind, _ name: String, _ help: String, value: UInt64) {
        self.init(kind, name, help)
        add(value)
    }

    package mutating func add(_ value: UInt64, _ labels: [(String, String)] = [], suffix: String = "") {
        samples.append(Sample(suffix: suffix, labels: labels, value: "\(value)"))
    }

    mutating func add(seconds: Double, _ labels: [(String, String)] = [], suffix: String = "") {
        samples.append(Sample(suffix: suffix, labels: labels, value: "\(seconds)"))
    }

    func append(to text: inout String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(kind.rawValue)\n"
        for sample in samples {
            text += name + sample.suffix
            if !sample.labels.isEmpty {
                // The code defines all label values, but one can contain a quotation mark.
                let labels = sample.labels.map { "\($0)=\"\(Self.escaped($1))\"" }
                text += "{" + labels.joined(separator: ",") + "}"
            }
            text += " \(sample.value)\n"
        }
    }

    private static func escaped(_ value: String) -> String {
        var escaped = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\"": escaped += "\\\""
            case "\n": escaped += "\\n"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
