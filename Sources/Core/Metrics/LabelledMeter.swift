// SPDX-License-Identifier: Apache-2.0

struct LabelledMeter: GateMeter {
    let meter: any GateMeter
    let labels: [String: String]

    func describe(_ name: String, as help: String) { meter.describe(name, as: help) }

    func add(_ amount: Double, to name: String, labels: [String: String]) {
        meter.add(amount, to: name, labels: merged(labels))
    }

    func change(_ name: String, by amount: Double, labels: [String: String]) {
        meter.change(name, by: amount, labels: merged(labels))
    }

    func record(_ duration: Duration, to name: String, labels: [String: String]) {
        meter.record(duration, to: name, labels: merged(labels))
    }

    func flush() async { await meter.flush() }

    private func merged(_ own: [String: String]) -> [String: String] {
        own.merging(labels) { own, _ in own }
    }
}

extension GateMeter {
    /// Returns this meter with a label that distinguishes a gate from other gates of its kind.
    ///
    /// ```swift
    /// .concurrencyLimit(total: 8, meter: store.labelled(gate: "search"))
    /// ```
    /// - Parameter gate: The value of the label `turnpike.gate.id` on all figures of the gate.
    /// - Returns: A meter that reports to this meter.
    public func labelled(gate: String) -> any GateMeter {
        LabelledMeter(meter: self, labels: ["turnpike.gate.id": gate])
    }
}
