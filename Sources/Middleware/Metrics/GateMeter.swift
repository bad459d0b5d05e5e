import TurnpikeCore

/// Takes what gates count beside passes: a breaker's state, a queue's length, a refusal.
///
/// A gate that has such a figure takes a meter in its initialiser; ``MetricsStore`` is one. It is
/// told at once and must neither block nor call the gate. Names are words with dots
/// (`turnpike.circuit_breaker.state`), labels come from a bounded set: states, reasons and origins,
/// never paths.
///
/// Gauges are told as changes (OpenTelemetry's up-down counters), so that those of gates which share
/// a meter add up: all calls in flight, all entries of caches, the number of circuits in a state.
/// A gate that goes takes its part back. ``labelled(gate:)`` tells gates of one kind apart.
public protocol GateMeter: Sendable {
    /// Adds to a counter.
    func add(_ amount: Double, to name: String, labels: [String: String])

    /// Changes a gauge, which begins at zero, by an amount that may be negative.
    func change(_ name: String, by amount: Double, labels: [String: String])

    /// Returns when what it was told has gone where it is to go; at once by default.
    ///
    /// Gates ask for it when they are shut down: a meter of a stack file writes then.
    func flush() async
}

extension GateMeter {
    /// Does nothing.
    public func flush() async {}
}

extension Origin {
    /// The labels of what is about an origin, by OpenTelemetry's names.
    var meterLabels: [String: String] {
        ["server.address": host, "server.port": String(port)]
    }
}

/// A counter or gauge of a gate's, and what it is about.
public struct GateFigure: Sendable, Hashable {
    /// What kind of figure it is.
    public enum Kind: Sendable, Hashable {
        /// It only grows.
        case counter
        /// It goes up and down.
        case gauge
    }

    /// The name, in words with dots.
    public let name: String
    /// What kind of figure it is.
    public let kind: Kind
    /// What it is about.
    public let labels: [String: String]

    /// Creates a key.
    public init(name: String, kind: Kind, labels: [String: String] = [:]) {
        self.name = name
        self.kind = kind
        self.labels = labels
    }

    /// The key of all that is beyond the number of series, by OpenTelemetry's name for it.
    var overflow: GateFigure {
        GateFigure(name: name, kind: kind, labels: ["otel.metric.overflow": "true"])
    }
}
