// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// A trace as the tree that its views draw: rows from the outside to the inside, with figures.
struct TraceTree {
    /// A span and its place in the tree.
    struct Row {
        let span: TraceSpan
        /// How many spans lie around it.
        let depth: Int
        /// The time from the beginning of the call to the end of the span, or to the last that is
        /// known of the call while the span is under way.
        let end: Duration
        /// When no child was under way, in order, without overlap.
        let own: [Range<Duration>]

        /// The time in which no child was under way, as far as it has come.
        var ownTime: Duration { own.reduce(.zero) { $0 + ($1.upperBound - $1.lowerBound) } }
    }

    /// The rows: each span before its children, and children in the order in which they began.
    let rows: [Row]
    /// The end of the last span; a span under way is drawn to here.
    let end: Duration

    init(_ trace: Trace) {
        let spans = trace.spans
        var end = Duration.zero
        for span in spans {
            end = max(end, span.start + (span.duration ?? .zero))
            for chunks in span.exchange?.chunks ?? [] { end = max(end, chunks.end) }
        }
        var children = [[Int]](repeating: [], count: spans.count)
        var next: [(index: Int, depth: Int)] = []
        for (index, span) in spans.enumerated() {
            if let parent = span.parent, parent < index {
                children[parent].append(index)
            } else {
                next.append((index, 0))
            }
        }
        next.reverse()
        func last(_ span: TraceSpan) -> Duration {
            max(span.start, span.duration.map { span.start + $0 } ?? end)
        }
        var rows: [Row] = []
        while let (index, depth) = next.popLast() {
            let inside = children[index].map { spans[$0].start..<last(spans[$0]) }
            let range = spans[index].start..<last(spans[index])
            rows.append(
                Row(
                    span: spans[index], depth: depth, end: range.upperBound,
                    own: Self.gaps(in: range, between: inside)))
            next += children[index].reversed().map { ($0, depth + 1) }
        }
        self.rows = rows
        self.end = end
    }

    private static func gaps(
        in range: Range<Duration>, between inside: [Range<Duration>]
    ) -> [Range<Duration>] {
        var gaps: [Range<Duration>] = []
        var place = range.lowerBound
        for part in inside.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            let begin = min(part.lowerBound, range.upperBound)
            if begin > place { gaps.append(place..<begin) }
            place = max(place, min(part.upperBound, range.upperBound))
        }
        if place < range.upperBound { gaps.append(place..<range.upperBound) }
        return gaps
    }

    /// Times for the marks of an axis from zero to ``end``: multiples of 1, 2 or 5 times a power of
    /// ten, `count` of them at most, and more than a third of that if the axis has a length.
    func ticks(atMost count: Int) -> [Duration] {
        guard end > .zero, count > 0 else { return [.zero] }
        var step = Duration.nanoseconds(1)
        var factor = 0
        while end / step >= Double(count) {
            // From 1 to 2, from 2 to 5, from 5 to 10.
            step = factor % 3 == 1 ? step * 5 / 2 : step * 2
            factor += 1
        }
        return (0...Int(end / step)).map { step * $0 }
    }
}
