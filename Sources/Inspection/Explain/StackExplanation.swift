// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// What a stack will do to a request, and how bad it can become.
///
/// ```swift
/// let explanation = client.stack.explain(Request(.get, "https://api.example.com/"), on: client.transport)
/// print(explanation)
/// #expect(explanation.worst.time.value == .seconds(30))
/// ```
///
/// Its description is text for a terminal; ``json``, ``mermaid`` and
/// ``svg`` are other forms. Secrets are redacted in all of them, as in logs.
public struct StackExplanation: Sendable {
    /// The method of the request.
    public let method: String
    /// The URL of the request, with secrets redacted.
    public let url: String
    /// The name of the transport.
    public var transport: String
    /// Why the call fails before a gate sees it, or nil.
    public let fault: String?
    /// The gates, outermost first, with those of the request's own options.
    public let gates: [GateExplanation]
    /// The worst case of the call.
    public let worst: StackBounds

    /// The gate at a place.
    public func gate(at place: String) -> GateExplanation? {
        gates.lazy.flatMap(\.flattened).first { $0.place == place }
    }
}

/// What a gate does to a request.
public struct GateExplanation: Sendable {
    /// Whether a gate does something to the request.
    public enum Status: Sendable, Hashable {
        /// It does what its facts say.
        case applies
        /// It passes the request on untouched; the reason completes "because".
        case passedOver(String)
        /// Its group does not apply to the request; the reason completes "because".
        case skipped(String)
        /// It states no facts.
        case unknown
    }

    /// Where it stands: `3`, or `3.1` in a group.
    public let place: String
    /// Its name.
    public let name: String
    /// How often it sees the call.
    public let runs: GateRuns
    /// Whether it does something to the request.
    public let status: Status
    /// Whether that may be otherwise for what a gate further out makes of the request: a redirect,
    /// for example, may turn a POST into a GET.
    public let mayChange: Bool
    /// What it does, as the end of a sentence that begins with its name; nil if it states no facts.
    public let summary: String?
    /// What it does, for programs; empty if it states no facts.
    public let effects: [GateEffect]
    /// The header fields that it sets, with secrets redacted.
    ///
    /// The value is empty where only a call decides it.
    public let fields: [(name: String, value: String)]
    /// The gates of a group, outermost first.
    public let gates: [GateExplanation]

    /// The gate and those of its group.
    var flattened: [GateExplanation] { [self] + gates.flatMap(\.flattened) }

    /// Whether the gate does something to the request.
    var isActive: Bool {
        switch status {
        case .applies, .unknown: true
        case .passedOver, .skipped: mayChange
        }
    }
}

/// How often a gate sees a call.
public enum GateRuns: String, Sendable, Hashable, CaseIterable {
    /// Once.
    case perCall = "once per call"
    /// Once for each redirect, and for the last response.
    case perHop = "for each hop"
    /// Once for each attempt.
    case perAttempt = "for each attempt"
    /// Once for each attempt of each hop.
    case perAttemptOfHop = "for each attempt of each hop"
    /// Once, and again for each replay: a gate further out may send again in the same pass, for
    /// example with new credentials after a 401.
    case perCallAndReplay = "once per call, and for each replay"
    /// Once for each hop, and again for each replay.
    case perHopAndReplay = "for each hop, and for each replay"
    /// Once for each attempt, and again for each replay.
    case perAttemptAndReplay = "for each attempt, and for each replay"
    /// Once for each attempt of each hop, and again for each replay.
    case perAttemptOfHopAndReplay = "for each attempt of each hop, and for each replay"
    /// A gate further out does not state whether it sends again.
    case unknown = "unknown how often"
}

extension Stack {
    /// Explains what the stack will do to a request, and what the worst case of such a call is.
    ///
    /// No gate runs, and nothing is sent: the explanation goes by the facts that gates state
    /// (``/TurnpikeCore/Gate/facts(for:)``). What a gate does not state is said to be unknown. The
    /// gates of the request's own options are included, as in a call. A condition sees the request
    /// as it is given: where a gate further out may change it, the worst case counts both ways.
    /// - Parameters:
    ///   - request: The request, as the caller makes it.
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

    // What the framework refuses to send.
    private static func fault(_ request: Request, _ transport: any Transport) -> String? {
        let needs: [(Bool, TransportCapabilities)] = [
            (request.body.isLive, .liveUpload), (request.body.hasTrailers, .requestTrailers),
        ]
        let missing = needs.filter { $0.0 && !transport.capabilities.contains($0.1) }.map {
            "\($0.1)"
        }
        if missing.isEmpty { return nil }
        return "the request body needs \(missing.joined(separator: " and ")), which the transport"
            + " does not support"
    }
}
