// SPDX-License-Identifier: Apache-2.0

/// The key of a counter, a gauge or a histogram: the name and the labels.
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
    /// Whether the figure is a counter, a gauge or a histogram.
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

/// A line about the present state of a gate or a transport, which helps to explain failed calls.
///
/// `ClientStatus` of `TurnpikeInspection` shows the lines of a client, without secrets.
public struct LiveFigure: Sendable, Hashable, Codable {
    /// The subject, for example `circuit of https://api.example.com`.
    public let name: String
    /// The state, in words or as a figure with a unit.
    public let value: String
    /// Whether calls may fail or wait because of this state.
    public let isTrouble: Bool

    /// Creates a line, which must not contain an account, a path or content.
    public init(_ name: String, _ value: String, isTrouble: Bool = false) {
        self.name = name
        self.value = value
        self.isTrouble = isTrouble
    }
}
