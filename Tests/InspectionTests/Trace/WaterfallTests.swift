// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeCore

@testable import TurnpikeInspection

@Suite("Waterfall of a trace in a terminal")
struct WaterfallTests {
    private func lines(_ text: String) -> [String] {
        text.split(separator: "\n").map(String.init)
    }

    @Test("Shows each span with its outcome, its times and a bar")
    func whole() {
        let text = SampleTraces.retried().waterfall(width: 100)
        let expected = """
            call 5f0c2a1b-1, 2026-11-23 16:40:00.250 UTC, 2 exchanges, 312 ms
            """
        #expect(lines(text).first == expected)
        let attempt = lines(text).first { $0.contains("attempt 1") } ?? ""
        #expect(attempt.hasPrefix("    attempt 1"))
        #expect(attempt.contains(#/ 503 +104 ms /#))
        #expect(text.contains("back-off") && text.contains("░░░░"))
        // The call itself has no time of its own that would fill a column.
        #expect(lines(text)[2].contains("───") && !lines(text)[2].contains("█"))
    }

    @Test(
        "No line is wider than asked for, and each has its line end",
        arguments: [20, 47, 60, 80, 200])
    func widths(width: Int) {
        for trace in [SampleTraces.retried(), SampleTraces.hedged(), SampleTraces.underWay()] {
            let text = trace.waterfall(width: width)
            #expect(text.hasSuffix("\n"))
            for line in lines(text) where !line.hasPrefix("✗") {
                #expect(line.count <= width, "\(line)")
            }
            #expect(lines(text).count >= trace.spans.count + 2)
        }
    }

    @Test("Bars stand where their times are, on one axis")
    func places() {
        let all = lines(SampleTraces.retried().waterfall(width: 100))
        func start(of name: String) -> Int? {
            all.first { $0.contains(name) }.flatMap { line in
                line.firstIndex { "█─░▏".contains($0) }.map {
                    line.distance(from: line.startIndex, to: $0)
                }
            }
        }
        let call = start(of: "GET /users/1") ?? 0
        let wait = start(of: "back-off") ?? 0
        let second = start(of: "attempt 2") ?? 0
        #expect(call < wait && wait < second)
        // A third of the call lies before the back-off, and about a third behind it.
        #expect(abs((wait - call) - (second - wait)) <= 2)
    }

    @Test("The error is told once, by the innermost span that has it")
    func errors() {
        let text = SampleTraces.hedged().waterfall()
        let notes = lines(text).filter { $0.hasPrefix("✗") }
        #expect(notes == ["✗ GET /stock: connectionLost: the server closed the connection"])
    }

    @Test("A call under way, and spans that were left out, are told")
    func open() {
        let text = SampleTraces.underWay().waterfall()
        #expect(lines(text).first?.hasSuffix("under way") == true)
        #expect(text.contains("▸"))
        #expect(text.contains("3 spans left out"))
    }

    @Test("Nothing that a terminal obeys gets through, with or without colors")
    func controls() {
        let plain = SampleTraces.hostile().waterfall(width: 400)
        let isObeyed = { (scalar: Unicode.Scalar) in
            scalar != "\n"
                && (scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value)
                    || (0x2028...0x202E).contains(scalar.value))
        }
        #expect(!plain.unicodeScalars.contains(where: isObeyed))
        #expect(plain.contains(#"\u{1b}"#))
        let colored = SampleTraces.hostile().waterfall(width: 400, color: true)
        #expect(colored.contains("\u{1B}[31m"))
        let rest = colored.replacing(#/\x{1B}\[[0-9]+m/#, with: "")
        #expect(rest == plain)
    }

    @Test("A trace without spans or time, and a very deep one, are drawn")
    func extremes() {
        #expect(TraceBuilder().trace().waterfall().hasSuffix("0 s\n"))
        var still = TraceBuilder()
        still.add(.call, "GET /", in: nil, 0, for: 0, .returned(.ok))
        #expect(lines(still.trace().waterfall()).count == 3)
        var deep = TraceBuilder()
        var parent = deep.add(.call, "GET /", in: nil, 0, for: 100)
        for depth in 1...500 {
            parent = deep.add(.gate, "Gate \(depth)", in: parent, 0, for: 100)
        }
        let text = deep.trace().waterfall(width: 40)
        #expect(lines(text).allSatisfy { $0.count <= 40 })
        #expect(text.contains("500"))
    }

    @Test("The own times of the rows are those of the model")
    func ownTimes() {
        for trace in [SampleTraces.retried(), SampleTraces.hedged()] {
            for row in TraceTree(trace).rows {
                #expect(row.ownTime == trace.ownTime(of: row.span), "\(row.span.name)")
            }
        }
    }

    @Test("Marks of an axis are few and round")
    func ticks() {
        let ticks = TraceTree(SampleTraces.retried()).ticks(atMost: 8)
        #expect(
            ticks.map(TraceText.time) == [
                "0 s", "50 ms", "100 ms", "150 ms", "200 ms", "250 ms", "300 ms",
            ])
    }
}
