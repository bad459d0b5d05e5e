// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore

final class ProgressBar: Sendable {
    private struct State {
        var lastDrawn: MonotonicInstant?
        var hasEnded = false
    }

    private let columns: Int
    private let now: @Sendable () -> MonotonicInstant
    private let draw: @Sendable (String) -> Void
    private let begin: MonotonicInstant
    private let state = Mutex(State())

    /// Creates a bar, which shows nothing during the first second.
    init(
        columns: Int,
        now: @escaping @Sendable () -> MonotonicInstant = { SystemTimeSource().now },
        draw: @escaping @Sendable (String) -> Void
    ) {
        self.columns = columns
        self.now = now
        self.draw = draw
        begin = now()
    }

    /// Shows progress, at most ten times per second.
    func show(_ progress: TransferProgress) {
        let time = now()
        state.withLock { state in
            let last = state.lastDrawn ?? begin.advanced(by: .milliseconds(900))
            guard !state.hasEnded, last.duration(to: time) >= .milliseconds(100) else { return }
            state.lastDrawn = time
            let elapsed = begin.duration(to: time)
            draw("\r\u{1B}[K" + Self.line(progress, elapsed: elapsed, columns: columns))
        }
    }

    /// Writes lines in place of the bar; the next progress draws the bar below the lines.
    func write(_ lines: String) {
        state.withLock { state in
            let isDrawn = state.lastDrawn != nil && !state.hasEnded
            draw((isDrawn ? "\r\u{1B}[K" : "") + lines)
        }
    }

    /// Clears the bar; later progress is not drawn.
    func end() {
        state.withLock { state in
            if state.lastDrawn != nil, !state.hasEnded { draw("\r\u{1B}[K") }
            state.hasEnded = true
        }
    }

    /// Returns progress as text that is shorter than a line of the terminal.
    static func line(
        _ progress: TransferProgress, elapsed: Duration, columns: Int
    ) -> String {
        let isSending = progress.bytesReceived == 0 && progress.bytesSent > 0
        let bytes = isSending ? progress.bytesSent : progress.bytesReceived
        let total = (isSending ? progress.totalToSend : progress.totalToReceive) ?? 0
        let rate = Double(bytes) / max(elapsed / .seconds(1), 0.001)
        var text = (isSending ? "sent " : "") + size(Double(bytes))
        if total > 0 { text += " of " + size(Double(total)) }
        text += "  \(size(rate))/s"
        guard total > 0 else { return String(text.prefix(max(columns - 1, 0))) }
        let part = min(Double(bytes) / Double(total), 1)
        if rate > 0 { text += "  " + clock(seconds: Double(total - min(bytes, total)) / rate) }
        let percent = "\(Int(part * 100)) %"
        let width = min(columns - 1 - text.count - 3 - percent.count - 2, 50)
        guard width >= 5 else { return String("\(percent)  \(text)".prefix(max(columns - 1, 0))) }
        let filled = Int(part * Double(width))
        let bar =
            String(repeating: "=", count: filled) + String(repeating: " ", count: width - filled)
        return "[\(bar)] \(percent)  \(text)"
    }

    private static func size(_ bytes: Double) -> String {
        var value = bytes
        for unit in ["B", "KiB", "MiB", "GiB"] {
            if value < 1000 { return number(value, isWhole: unit == "B") + " " + unit }
            value /= 1024
        }
        return number(value, isWhole: false) + " TiB"
    }

    private static func number(_ value: Double, isWhole: Bool) -> String {
        if isWhole { return String(Int(value)) }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }

    private static func clock(seconds: Double) -> String {
        let seconds = Int(min(seconds, 359_999).rounded(.up))
        let (minutes, rest) = (seconds / 60, seconds % 60)
        func padded(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
        return minutes < 60
            ? "\(minutes):\(padded(rest))"
            : "\(minutes / 60):\(padded(minutes % 60)):\(padded(rest))"
    }
}
