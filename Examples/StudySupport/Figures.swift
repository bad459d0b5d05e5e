// SPDX-License-Identifier: Apache-2.0

/// Computes and formats figures of a study, independently of the locale.
public enum Figures {
    /// The median; nil if there are no values.
    public static func median(_ values: [Double]) -> Double? {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return nil }
        let half = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2
    }

    /// A number with two decimals.
    public static func fixed(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        let rest = String(hundredths % 100)
        return "\(hundredths / 100)." + (rest.count < 2 ? "0" : "") + rest
    }

    /// A share in percent, without decimals.
    public static func percent(_ share: Double) -> String {
        "\(Int((share * 100).rounded())) %"
    }
}
