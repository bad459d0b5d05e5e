// SPDX-License-Identifier: Apache-2.0

/// The key of a counter, a gauge or a histogram: its name and its labels.
public struct GateFigure: Sendable, Hashable {
    /// The kinds of figures.
    public enum Kind: Sendable, Hashable {
        /// A figure that only grows.
        case counter
        /// A figure that rises and falls.
        case gauge
        /// A distribution of durations.
        case histogram
    }

    /// The name, in words with dots.
    public let name: String
    /// Whether it is a counter, a gauge or a histogram.
    public let kind: Kind
    /// The labels.
    public let labels: [String: String]

    /// Creates a key.
    public init(name: String, kind: Kind, labels: [String: String] = [:]) {
        self.name = name
        self.kind = kind
        self.labels = labels
    }
}
