/// Prometheus' text format, version 0.0.4.
struct PrometheusText {
    private(set) var text = ""

    mutating func begin(_ name: String, type: String, help: String) {
        text += "# HELP \(name) \(help)\n# TYPE \(name) \(type)\n"
    }

    mutating func add(_ name: String, _ labels: [(name: String, value: String)], _ value: Double) {
        let list = labels.map { "\(Self.labelName($0.name))=\"\(Self.escaped($0.value))\"" }
        let block = list.isEmpty ? "" : "{" + list.joined(separator: ",") + "}"
        text += "\(name)\(block) \(Self.number(value))\n"
    }

    mutating func add(
        _ name: String, _ labels: [(name: String, value: String)], _ histogram: Histogram
    ) {
        var cumulative = 0
        for (index, count) in histogram.counts.enumerated() {
            cumulative += count
            let bound = index < histogram.bounds.count ? histogram.bounds[index] : .infinity
            add(name + "_bucket", labels + [("le", Self.number(bound))], Double(cumulative))
        }
        add(name + "_sum", labels, histogram.sum)
        add(name + "_count", labels, Double(histogram.count))
    }

    /// A metric's name: letters, digits, underscores and colons, no digit first.
    static func metricName(_ name: String) -> String { checked(name, allowing: "_:") }

    private static func labelName(_ name: String) -> String { checked(name, allowing: "_") }

    private static func checked(_ name: String, allowing others: String) -> String {
        let characters = name.unicodeScalars.map { scalar -> Character in
            let isAllowed =
                ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar)
                || ("0"..."9").contains(scalar) || others.unicodeScalars.contains(scalar)
            return isAllowed ? Character(scalar) : "_"
        }
        let startsWell = characters.first.map { !$0.isNumber } ?? false
        return (startsWell ? "" : "_") + String(characters)
    }

    private static func escaped(_ value: String) -> String {
        var result = ""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\"": result += "\\\""
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
