// SPDX-License-Identifier: Apache-2.0

/// The exchanges of a call; the shown exchange defines the timeline and the progress.
///
/// Attempts of a hedged call overlap. The shown exchange is the exchange that was sent last.
/// Another exchange becomes the shown exchange if it is answered first, if it is read before the
/// shown exchange has an answer, or if it is returned to the caller.
struct RecordedExchanges {
    private enum Phase {
        case sent
        case answered
        case ended
    }

    private struct One {
        var number = 0
        var attempt = 0
        var phase = Phase.ended
        var timeline = Timeline()
        var progress = TransferProgress()

        mutating func answer(_ change: (inout Timeline, inout TransferProgress) -> Void) {
            phase = .answered
            change(&timeline, &progress)
        }

        mutating func receive(_ bytes: Int) {
            timeline.bodyBytesReceived += Int64(bytes)
            progress.bytesReceived = timeline.bodyBytesReceived
        }
    }

    private var shown = One()
    private var others: [One] = []

    var timeline: Timeline { shown.timeline }

    var progress: TransferProgress { shown.progress }

    enum Awaited {
        case head
        case content
    }

    /// The next event that an exchange waits for, or nil if all exchanges have ended.
    var awaited: Awaited? {
        let open = shown.phase == .ended ? others.last { $0.phase != .ended } : shown
        return open.map { $0.phase == .sent ? .head : .content }
    }

    var isContested: Bool { !others.isEmpty }

    mutating func beginCall(at now: MonotonicInstant) { shown.timeline.start = now }

    mutating func endCall(at now: MonotonicInstant) { shown.timeline.serialized = now }

    mutating func begin(_ number: Int, attempt: Int, length: Int64?, at now: MonotonicInstant) {
        if shown.phase != .ended { others.append(shown) }
        shown.number = number
        shown.attempt = attempt
        shown.phase = .sent
        shown.timeline.begin(at: now)
        shown.progress = TransferProgress(totalToSend: length)
    }

    /// - Returns: Whether the progress has changed.
    mutating func take(_ reports: [TransportReport], ofAttempt attempt: Int) -> Bool {
        if shown.attempt != attempt,
            let place = others.lastIndex(where: { $0.attempt == attempt })
        {
            Self.take(reports, &others[place])
            return false
        }
        guard shown.attempt <= attempt else { return false }
        let before = shown.progress.bytesSent
        Self.take(reports, &shown)
        return shown.progress.bytesSent != before
    }

    private static func take(_ reports: [TransportReport], _ exchange: inout One) {
        for report in reports {
            exchange.timeline.take(report)
            if case .sent(let bytes) = report { exchange.progress.bytesSent = bytes }
        }
    }

    /// Records a head.
    ///
    /// The exchange becomes the shown exchange, unless it was abandoned or the shown exchange has
    /// an answer that the caller may still read.
    mutating func receiveHead(
        of number: Int, unless isGivenUp: @autoclosure () -> Bool,
        _ change: (inout Timeline, inout TransferProgress) -> Void
    ) {
        if shown.number == number { return shown.answer(change) }
        guard let place = others.firstIndex(where: { $0.number == number }) else { return }
        others[place].answer(change)
        if shown.phase != .answered, !isGivenUp() { show(number) }
    }

    /// Counts bytes that were read from a body, but not those of a discarded body (a losing hedge).
    /// - Returns: Whether the progress has changed.
    mutating func receive(_ bytes: Int, in number: Int) -> Bool {
        if shown.number == number {
            shown.receive(bytes)
            return true
        }
        guard let place = others.firstIndex(where: { $0.number == number }) else { return false }
        others[place].receive(bytes)
        if shown.phase != .sent { return false }
        show(number)
        return true
    }

    mutating func endBody(of number: Int, at now: MonotonicInstant?) {
        if shown.number == number {
            shown.timeline.bodyEnd = now
            shown.phase = .ended
        } else if let place = others.firstIndex(where: { $0.number == number }) {
            // The caller may still get the response of this exchange.
            others[place].timeline.bodyEnd = now
            others[place].phase = .ended
        }
    }

    mutating func show(_ number: Int) {
        guard shown.number != number,
            let place = others.firstIndex(where: { $0.number == number })
        else { return }
        let other = others[place]
        others[place] = shown
        shown = other
    }
}

/// The bytes that a call has sent and received in its current exchange.
public struct TransferProgress: Sendable, Hashable {
    /// The bytes of the request content that were sent in the current exchange.
    public var bytesSent: Int64
    /// The size of the request content, or nil if unknown.
    public var totalToSend: Int64?
    /// The bytes of the response content that the caller has read.
    public var bytesReceived: Int64
    /// The size of the response content, or nil if unknown.
    public var totalToReceive: Int64?

    /// Creates a progress value.
    public init(
        bytesSent: Int64 = 0, totalToSend: Int64? = nil, bytesReceived: Int64 = 0,
        totalToReceive: Int64? = nil
    ) {
        self.bytesSent = bytesSent
        self.totalToSend = totalToSend
        self.bytesReceived = bytesReceived
        self.totalToReceive = totalToReceive
    }

    /// The received fraction of the response content, 0 to 1, or nil if the size is unknown.
    public var fractionReceived: Double? { Self.fraction(bytesReceived, totalToReceive) }

    /// The sent fraction of the request content, 0 to 1, or nil if the size is unknown.
    public var fractionSent: Double? { Self.fraction(bytesSent, totalToSend) }

    var hasMoved: Bool { bytesSent > 0 || bytesReceived > 0 }

    private static func fraction(_ part: Int64, _ total: Int64?) -> Double? {
        guard let total else { return nil }
        return total > 0 ? Double(part) / Double(total) : 1
    }
}
