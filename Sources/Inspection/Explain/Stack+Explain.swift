// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

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
