// SPDX-License-Identifier: Apache-2.0

/// Prometheus' text format, version 0.0.4.
struct PrometheusText {
    private(set) var text = ""
    private(set) var labelNames: PrometheusNames

    init(labelNames: PrometheusNames) { self.labelNames = labelNames }

    mutating func begin(_ name: String, type: String, help: String) {
        let line = Self.escaped(help, alsoQuotes: false)
        text += "# HELP \(name) \(line)\n# TYPE \(name) \(type)\n"
    }

    mutating func add(_ name: String, _ labels: [(name: String, value: String)], _ value: Double) {
        add(name, labels.map { (labelNames.name(for: $0.name), $0.value) }, checked: value)
    }

    // The names of the labels are final.
    private mutating func add(_ name: String, _ labels: [(String, String)], checked value: Double) {
        let list = labels.map { "\($0)=\"\(Self.escaped($1))\"" }
        let block = list.isEmpty ? "" : "{" + list.joined(separator: ",") + "}"
        text += "\(name)\(block) \(Self.number(value))\n"
    }

    mutating func add(
        _ name: String, _ labels: [(name: String, value: String)], _ histogram: Histogram
    ) {
        let named = labels.map { (labelNames.name(for: $0.name), $0.value) }
        var cumulative = 0
        for (index, count) in histogram.counts.enumerated() {
            cumulative += count
            let bound = index < histogram.bounds.count ? histogram.bounds[index] : .infinity
            let bucket = named + [("le", Self.number(bound))]
            add(name + "_bucket", bucket, checked: Double(cumulative))
        }
        add(name + "_sum", labels, histogram.sum)
        add(name + "_count", labels, Double(histogram.count))
    }

    // Help texts escape no quotes.
    private static func escaped(_ value: String, alsoQuotes: Bool = true) -> String {
        var result = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\"" where alsoQuotes: result += "\\\""
            case "\n": result += "\\n"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        return value == value.rounded() && abs(value) < 1e15 ? String(Int(value)) : String(value)
    }
}
