// SPDX-License-Identifier: Apache-2.0

/// Receives the figures of gates and transports, such as a breaker's state or a queue's length.
///
/// A gate with figures has a meter in its initializer, and describes the figures to the meter.
/// `MetricsStore` is a meter. The methods run at the time of the event, must not block, and must
/// not call the gate. Names are words with dots (`turnpike.circuit_breaker.state`). The values of
/// labels come from a bounded set: states, reasons and origins, but never paths.
///
/// Gauges are reported as changes (OpenTelemetry's up-down counters). The gauges of gates that
/// share a meter therefore add up: all running calls, all entries of caches, the number of circuits
/// in a state. When a gate ends, the gate subtracts its own part. ``labelled(gate:)`` distinguishes
/// gates of the same kind.
public protocol GateMeter: Sendable {
    /// Receives the help text of a figure; does nothing by default.
    ///
    /// A gate describes each of its figures before the first value.
    /// - Parameters:
    ///   - name: The name of the figure.
    ///   - help: One sentence about the counted events, with the unit (`# HELP` in Prometheus).
    func describe(_ name: String, as help: String)

    /// Adds to a counter; an amount of zero creates the counter before the first event.
    func add(_ amount: Double, to name: String, labels: [String: String])

    /// Changes a gauge, which begins at zero, by an amount, which may be negative.
    func change(_ name: String, by amount: Double, labels: [String: String])

    /// Adds a duration to a histogram, whose unit is the second; does nothing by default.
    func record(_ duration: Duration, to name: String, labels: [String: String])

    /// Returns when the meter has delivered all figures; a gate calls this method at shutdown.
    func flush() async
}

extension GateMeter {
    /// Does nothing by default.
    public func describe(_ name: String, as help: String) {}

    func describe(_ help: [String: String]) {
        for (name, text) in help { describe(name, as: text) }
    }

    /// Does nothing by default.
    public func record(_ duration: Duration, to name: String, labels: [String: String]) {}

    /// Does nothing by default.
    public func flush() async {}
}

extension Origin {
    /// The labels of an origin in figures, named as in OpenTelemetry.
    public var meterLabels: [String: String] {
        ["server.address": host, "server.port": String(port)]
    }
}
