// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSupport

/// How the views of a trace write times, sizes and outcomes.
enum TraceText {
    /// A time with three digits that count, such as `312 µs`, `4.20 ms`, `1.42 s` or `2 min 5 s`.
    static func time(_ duration: Duration) -> String {
        let micros = max(duration, .zero) / .microseconds(1)
        if micros < 0.5 { return "0" }
        if micros < 999.5 { return "\(Int(micros.rounded())) µs" }
        if micros < 999_500 { return digits(micros / 1000) + " ms" }
        let seconds = micros / 1_000_000
        if seconds < 59.95 { return digits(seconds) + " s" }
        let whole = Int(min(seconds, 1e15).rounded())
        return "\(whole / 60) min \(whole % 60) s"
    }

    /// A time on an axis, without zeros that mean nothing: `0`, `200 ms`, `1.2 s`.
    static func tick(_ duration: Duration) -> String {
        let text = time(duration)
        guard let space = text.firstIndex(of: " "), text.contains(".") else { return text }
        var number = text[..<space]
        while number.last == "0" { number.removeLast() }
        if number.last == "." { number.removeLast() }
        return String(number + text[space...])
    }

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

    private static func digits(_ value: Double) -> String {
        fixed(value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0)
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
