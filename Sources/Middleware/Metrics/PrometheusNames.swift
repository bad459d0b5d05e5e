/// The names that metrics or labels have in Prometheus, where fewer characters are allowed than in
/// OpenTelemetry.
///
/// No two share one: what would be written as another name was before gets a number behind it
/// (`a_b`, `a_b_2`). A name keeps what it got first.
struct PrometheusNames {
    private let others: Set<Unicode.Scalar>
    private var names: [Key: String] = [:]
    private var taken: Set<String>

    // Names that only look the same are two, as in Prometheus.
    private struct Key: Hashable {
        let bytes: [UInt8]
        let suffix: String
    }

    /// Names of metrics: letters, digits, underscores and colons, no digit first.
    /// - Parameter taken: The names that are given out already.
    /// - Returns: Names without any of those.
    static func metrics(taken: Set<String>) -> Self { Self(others: ["_", ":"], taken: taken) }

    /// Names of labels: letters, digits and underscores, no digit first, and no two underscores,
    /// which begin what is Prometheus' own.
    /// - Parameter first: Those that get their names before all others.
    /// - Returns: Names that begin with those.
    static func labels(first: [String]) -> Self {
        var names = Self(others: ["_"], taken: ["le"])
        for name in first { _ = names.name(for: name) }
        return names
    }

    private init(others: Set<Unicode.Scalar>, taken: Set<String>) {
        self.others = others
        self.taken = taken
    }

    /// The name in Prometheus.
    /// - Parameters:
    ///   - name: The name.
    ///   - suffix: What the name in Prometheus has to end with.
    /// - Returns: The name that is its own.
    mutating func name(for name: String, endingIn suffix: String = "") -> String {
        let key = Key(bytes: Array(name.utf8), suffix: suffix)
        if let known = names[key] { return known }
        var plain = Self.plain(name, allowing: others)
        if plain.hasSuffix(suffix) { plain.removeLast(suffix.count) }
        var result = plain + suffix
        var number = 1
        while !taken.insert(result).inserted {
            number += 1
            result = "\(plain)_\(number)\(suffix)"
        }
        names[key] = result
        return result
    }

    private static func plain(_ name: String, allowing others: Set<Unicode.Scalar>) -> String {
        var result = ""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "a"..."z", "A"..."Z": result.unicodeScalars.append(scalar)
            case "0"..."9":
                if result.isEmpty { result = "_" }
                result.unicodeScalars.append(scalar)
            default:
                let isOwn = others.contains(scalar)
                // Reserved at the beginning.
                if result == "_", !isOwn || scalar == "_" { continue }
                result.unicodeScalars.append(isOwn ? scalar : "_")
            }
        }
        return result.isEmpty ? "_" : result
    }
}
