// SPDX-License-Identifier: Apache-2.0

/// The names of metrics or labels in Prometheus, which allows fewer characters than OpenTelemetry.
///
/// No two names are the same: a name that would equal an earlier one gets a number (`a_b`,
/// `a_b_2`). A name does not change once it is given.
struct PrometheusNames {
    private let others: Set<Unicode.Scalar>
    private var names: [Key: String] = [:]
    private var taken: Set<String>

    // Compares bytes, as Prometheus does: two names may look the same and still differ.
    private struct Key: Hashable {
        let bytes: [UInt8]
        let suffix: String
    }

    /// Names of metrics: letters, digits, underscores and colons, no digit first.
    /// - Parameter taken: The names that are in use already.
    /// - Returns: A table that avoids those names.
    static func metrics(taken: Set<String>) -> Self { Self(others: ["_", ":"], taken: taken) }

    /// Names of labels: letters, digits and underscores, with no digit first, and without two
    /// leading underscores, which Prometheus reserves.
    /// - Parameter first: The labels that get their names before all others.
    /// - Returns: A table in which those have their names.
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
    ///   - name: The name in OpenTelemetry.
    ///   - suffix: The suffix that the name in Prometheus must have.
    ///   - endings: Suffixes of the name that are reserved too.
    /// - Returns: The name, which no other metric or label has.
    mutating func name(
        for name: String, endingIn suffix: String = "", reserving endings: [String] = []
    ) -> String {
        let key = Key(bytes: Array(name.utf8), suffix: suffix)
        if let known = names[key] { return known }
        var plain = Self.plain(name, allowing: others)
        if plain.hasSuffix(suffix) { plain.removeLast(suffix.count) }
        var result = plain + suffix
        var number = 1
        while ([""] + endings).contains(where: { taken.contains(result + $0) }) {
            number += 1
            result = "\(plain)_\(number)\(suffix)"
        }
        for ending in [""] + endings { taken.insert(result + ending) }
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
                // Two leading underscores are reserved.
                if result == "_", !isOwn || scalar == "_" { continue }
                result.unicodeScalars.append(isOwn ? scalar : "_")
            }
        }
        return result.isEmpty ? "_" : result
    }
}
