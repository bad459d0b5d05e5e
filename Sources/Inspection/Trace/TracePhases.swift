// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// The phases of an exchange that its transport has reported, each with the time that it took.
struct TracePhases {
    /// A phase, by the name that the recorder gives to its span.
    enum Name: String, CaseIterable {
        case queue
        case resolution = "DNS"
        case connect
        case tls = "TLS"
        case send = "request sent"
        case firstByte = "first byte"
        case head
        case body

        /// The name of its color in ``TraceColors``.
        var color: String {
            switch self {
            case .queue: "queue"
            case .resolution: "dns"
            case .connect: "connect"
            case .tls: "tls"
            case .send: "send"
            case .firstByte: "first"
            case .head: "head"
            case .body: "body"
            }
        }
    }

    private var durations: [Name: Duration] = [:]

    /// Reads the phases right inside an exchange.
    init(of span: TraceSpan, in children: [TraceSpan]) {
        for child in children {
            guard child.kind == .phase || child.kind == .body, let name = Name(rawValue: child.name)
            else { continue }
            durations[name, default: .zero] += max(child.duration ?? .zero, .zero)
        }
    }

    /// How long a phase took, or nil if it is not known.
    subscript(name: Name) -> Duration? { durations[name] }

    /// The sum of all that are known.
    var sum: Duration { durations.values.reduce(.zero, +) }
}
