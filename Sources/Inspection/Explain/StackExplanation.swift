// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// The effects of a stack on a request, and the worst case.
///
/// ```swift
/// let explanation = client.stack.explain(Request(.get, "https://api.example.com/"), on: client.transport)
/// print(explanation)
/// #expect(explanation.worst.time.value == .seconds(30))
/// ```
///
/// The description is text for a terminal. Other forms are ``json``, ``mermaid`` and ``svg``. All
/// forms are free of secrets, as in logs.
public struct StackExplanation: Sendable {
    /// The method of the request.
    public let method: String
    /// The URL of the request without secrets.
    public let url: String
    /// The name of the transport.
    public var transport: String
    /// The reason why the call fails before the first gate, or nil if the call reaches the gates.
    public let fault: String?
    /// The gates, outermost first, including the gates that the request's options add.
    public let gates: [GateExplanation]
    /// The worst case of the call.
    public let worst: StackBounds

    /// The gate at a place.
    public func gate(at place: String) -> GateExplanation? {
        gates.lazy.flatMap(\.flattened).first { $0.place == place }
    }
}

/// The effects of a gate on a request.
public struct GateExplanation: Sendable {
    /// Whether a gate applies to the request.
    public enum Status: Sendable, Hashable {
        /// The gate applies, and the facts of the gate are known.
        case applies
        /// The gate does not change the request; the text completes a sentence after "because".
        case passedOver(String)
        /// The group of the gate does not apply to the request; the text completes "because".
        case skipped(String)
        /// The gate states no facts.
        case unknown
    }

    /// The place of the gate: `3`, or `3.1` in a group.
    public let place: String
    /// The name of the gate.
    public let name: String
    /// How often the call passes through the gate.
    public let runs: GateRuns
    /// Whether the gate has an effect on the request.
    public let status: Status
    /// Whether the status may change because an outer gate changes the request; for example, a
    /// redirect may change a POST into a GET.
    public let mayChange: Bool
    /// The work of the gate, as the end of a sentence after the gate's name, or nil without facts.
    public let summary: String?
    /// The effects of the gate, or an empty list without facts.
    public let effects: [GateEffect]
    /// The header fields that the gate sets, without secrets.
    ///
    /// A value that is known only during a call is empty here.
    public let fields: [(name: String, value: String)]
    /// The gates of a group, outermost first.
    public let gates: [GateExplanation]

    var flattened: [GateExplanation] { [self] + gates.flatMap(\.flattened) }

    var isActive: Bool {
        switch status {
        case .applies, .unknown: true
        case .passedOver, .skipped: mayChange
        }
    }
}

/// How often a call passes through a gate.
public enum GateRuns: String, Sendable, Hashable, CaseIterable {
    /// Once for the call.
    case perCall = "once per call"
    /// Once for each redirect, and for the last response.
    case perHop = "for each hop"
    /// Once for each attempt.
    case perAttempt = "for each attempt"
    /// Once for each attempt of each hop.
    case perAttemptOfHop = "for each attempt of each hop"
    /// Once, and once more for each replay within an attempt, for example with new credentials
    /// after a 401.
    case perCallAndReplay = "once per call, and for each replay"
    /// Once for each hop, and again for each replay.
    case perHopAndReplay = "for each hop, and for each replay"
    /// Once for each attempt, and again for each replay.
    case perAttemptAndReplay = "for each attempt, and for each replay"
    /// Once for each attempt of each hop, and again for each replay.
    case perAttemptOfHopAndReplay = "for each attempt of each hop, and for each replay"
    /// Unknown, because an outer gate does not state how often the gate sends.
    case unknown = "unknown how often"
}

extension Stack {
    /// Explains the effects of the stack on a request, and computes the worst case of the call.
    ///
    /// No gate runs, and nothing is sent, because the explanation uses only the facts of the gates
    /// (``/TurnpikeCore/Gate/facts(for:)``). Effects that a gate does not state are unknown. Gates
    /// that the options of the request add are included. The conditions of groups are evaluated
    /// with this request. If an outer gate may change the request, the worst case covers both
    /// requests.
    /// - Parameters:
    ///   - request: The request of the caller.
    ///   - transport: The transport at the end of the stack.
    /// - Returns: The explanation.
    public func explain(_ request: Request, on transport: any Transport) -> StackExplanation {
        let stack = completed(for: request.options)
        var reading = StackReading()
        let (gates, parts) = reading.read(stack.gates, request, at: "")
        return StackExplanation(
            method: request.method.rawValue, url: Redaction.standard.url(request.url),
            transport: Self.name(of: transport),
            fault: Client(transport: transport, stack: stack, serializers: SerializerTable())
                .fault?.message ?? request.fault ?? Self.fault(request, transport),
            gates: gates,
            worst: StackBounds(
                parts, places: reading.places, isStreaming: request.options.isStreaming,
                mayResend: reading.mayResend))
    }

    private static func name(of transport: any Transport) -> String {
        String(describing: type(of: transport))
    }

    private static func fault(_ request: Request, _ transport: any Transport) -> String? {
        let needs: [(Bool, TransportCapabilities)] = [
            (request.body.isLive, .liveUpload), (request.body.hasTrailers, .requestTrailers),
            (request.options.upgrade != nil, .upgrades),
        ]
        let missing = needs.filter { $0.0 && !transport.capabilities.contains($0.1) }.map {
            "\($0.1)"
        }
        if missing.isEmpty { return nil }
        return "the request needs \(missing.joined(separator: " and ")), which the transport"
            + " does not support"
    }
}
