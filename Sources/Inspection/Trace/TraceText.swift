// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSupport

/// How the views of a trace write times, sizes and outcomes.
enum TraceText {
    /// A time, as errors and logs write it: `312 µs`, `4.2 ms`, `1.42 s`.
    static func time(_ duration: Duration) -> String { max(duration, .zero).text }

    /// A count of bytes: `512 B`, `1.5 KiB`, `20 MiB`.
    static func bytes(_ count: Int64) -> String {
        if count < 1024 { return "\(count) B" }
        var value = Double(count)
        var unit = "B"
        for next in ["KiB", "MiB", "GiB", "TiB"] where value >= 1024 {
            value /= 1024
            unit = next
        }
        return (value < 9.95 ? fixed(value, 1) : fixed(value, 0)) + " " + unit
    }

    /// How a span ended, in a word.
    static func outcome(_ outcome: TraceSpan.Outcome?) -> String {
        switch outcome {
        case .returned(let status): status.map { "\($0.code)" } ?? ""
        case .failed(let label, _): Grammar.escaped(label)
        case .cancelled: "cancelled"
        case .dropped: "dropped"
        case nil: "under way"
        }
    }

    /// A date in UTC for people: `2026-11-23 16:40:00.123 UTC`.
    static func date(_ date: Date) -> String {
        HARFormat.date(date).replacing("T", with: " ").replacing("Z", with: " UTC")
    }

    // Not `String(format:)`, which depends on the locale.
    static func fixed(_ value: Double, _ places: Int) -> String {
        var scale = 1
        for _ in 0..<places { scale *= 10 }
        let whole = Int((value * Double(scale)).rounded())
        if places == 0 { return "\(whole)" }
        let rest = String(whole % scale)
        return "\(whole / scale)." + String(repeating: "0", count: places - rest.count) + rest
    }
}

extension TraceSpan {
    /// Whether the span ended otherwise than with a response below 400, or is none that fails.
    var isBad: Bool {
        switch outcome {
        case .failed: true
        case .returned(let status): (status?.code ?? 0) >= 400
        case .cancelled, .dropped, nil: false
        }
    }

    /// The name of the kind in JSON and in attributes.
    var kindName: String {
        switch kind {
        case .call: "call"
        case .gate: "gate"
        case .attempt: "attempt"
        case .wait: "wait"
        case .exchange: "exchange"
        case .phase: "phase"
        case .body: "body"
        }
    }
}

/// The address of a peer in its parts: `192.0.2.1`, `192.0.2.1:80`, `[2001:db8::7]:80`, or the path of
/// a Unix socket.
struct TracePeer {
    /// The address without its port, or the path.
    let host: String
    let port: Int?

    /// Whether it is the path of a Unix socket.
    var isPath: Bool { host.hasPrefix("/") }

    init(_ address: String) {
        let end = address.lastIndex(of: ":")
        let isBracketed = address.hasPrefix("[")
        let hasPort =
            !address.hasPrefix("/") && end != nil
            && (isBracketed ? !address.hasSuffix("]") : end == address.firstIndex(of: ":"))
        guard hasPort || isBracketed else {
            (host, port) = (address, nil)
            return
        }
        host =
            isBracketed
            ? String(address.dropFirst().prefix { $0 != "]" })
            : String(address.prefix { $0 != ":" })
        port = hasPort ? end.flatMap { Int(address[address.index(after: $0)...]) } : nil
    }
}
