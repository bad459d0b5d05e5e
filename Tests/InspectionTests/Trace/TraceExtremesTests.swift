// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TurnpikeCore
@testable import TurnpikeInspection

@Suite("Traces of clocks that are set back, or far")
struct TraceExtremesTests {
    private static let dates: [Date] = [
        .distantPast, .distantFuture, Date(timeIntervalSince1970: -1),
        Date(timeIntervalSince1970: 1e300), Date(timeIntervalSince1970: -1e300),
        Date(timeIntervalSince1970: .infinity), Date(timeIntervalSince1970: .nan),
    ]
    private static let times: [Duration] = [
        .zero, .nanoseconds(1), .milliseconds(-5), .seconds(Int64.max), .seconds(Int64.min),
    ]

    /// A call of an ordinary length in which everything has the given times.
    private static func trace(_ date: Date, _ start: Duration, _ duration: Duration?) -> Trace {
        let chunks = TraceChunks(
            start: start, end: start + (duration ?? .zero) / 2, bytes: .max, count: .max)
        let exchange = SampleTraces.exchange(
            status: 200, bytes: .max, isReused: true, chunks: [chunks])
        let parts: [(TraceSpan.Kind, String, Int?)] = [
            (.call, "GET /", nil), (.gate, "Retry", 0), (.wait, "back-off", 1),
            (.exchange, "GET /", 1), (.phase, "connect", 3), (.phase, "TLS", 3), (.body, "body", 3),
        ]
        let spans = parts.enumerated().map { id, part in
            TraceSpan(
                id: id, parent: part.2, kind: part.0, name: part.1,
                start: id == 0 ? .zero : start, duration: id == 0 ? .seconds(1) : duration,
                outcome: id > 0 && duration == nil ? nil : .returned(.ok),
                exchange: part.0 == .exchange ? exchange : nil)
        }
        return Trace(id: CallID(client: 1, number: 1), date: date, spans: spans)
    }

    private static var traces: [Trace] {
        let ends = times.map { Optional($0) } + [nil]
        return times.flatMap { start in
            ends.map { trace(.distantFuture, start, $0) }
        } + dates.map { trace($0, .seconds(Int64.max), .seconds(Int64.max)) }
    }

    private func nanoseconds(_ trace: Trace) throws -> [(start: Int64, end: Int64)] {
        let scope = [trace].otlp(service: "shop")["resourceSpans"]?[0]?["scopeSpans"]?[0]
        return try #require(scope?["spans"]?.array).map { span in
            (
                try #require(Int64(span["startTimeUnixNano"]?.string ?? "")),
                try #require(Int64(span["endTimeUnixNano"]?.string ?? ""))
            )
        }
    }

    @Test("Times of OTLP are in order, and those beyond 64 bits are the largest")
    func otlp() throws {
        for trace in Self.traces {
            for span in try nanoseconds(trace) {
                #expect(0 <= span.start && span.start <= span.end, "\(trace)")
            }
        }
        func ends(_ seconds: Double, _ duration: Duration) throws -> Int64? {
            let date = Date(timeIntervalSince1970: seconds)
            return try nanoseconds(Self.trace(date, .zero, duration)).last?.end
        }
        #expect(try ends(1e300, .seconds(Int64.max)) == Int64.max)
        // The last date, in the year 2255.
        #expect(try ends(1e300, .zero) == 9_000_000_000_000_000_000)
        #expect(try ends(-1e300, .seconds(3)) == 3_000_000_000)
        #expect(try ends(.nan, .seconds(-3)) == 0)
        #expect(try ends(1, .seconds(Int64.min)) == 1_000_000_000)
    }

    @Test("A span that took longer than a number holds has ended all the same")
    func ended() {
        let span = Self.trace(.distantPast, .zero, .seconds(Int64.max)).spans[1]
        #expect(span.duration == .nanoseconds(Int64.max - 1))
    }

    @Test("JSON and HAR can be read again, and dates have a year of four digits")
    func files() throws {
        for trace in Self.traces {
            let json = trace.json()
            #expect(try JSONValue(parsing: json.data()) == json)
            let date = try #require(json["date"]?.string)
            #expect(date.wholeMatch(of: #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/#) != nil)
            let har = [trace].har()
            #expect(try JSONValue(parsing: har.data()) == har)
            let timings = try #require(har["log"]?["entries"]?[0]?["timings"]?.object)
            #expect(timings.allSatisfy { ($0.value.double ?? -2) >= -1 }, "\(trace)")
        }
        #expect(Self.traces.har()["log"]?["entries"]?.array?.count == Self.traces.count)
        #expect(Self.traces.html().hasSuffix("</html>\n"))
    }

    @Test("Bars stay on the axis of a waterfall and of a picture")
    func pictures() throws {
        for trace in Self.traces {
            let lines = trace.waterfall(width: 100).split(separator: "\n")
            #expect(lines.count == trace.spans.count + 2)
            #expect(lines.allSatisfy { $0.count <= 100 }, "\(trace)")
            #expect(trace.waterfall(width: .min).hasSuffix("\n"))
            for bar in trace.svg().matches(of: #/<rect class="[^"]*" x="([^"]*)"/#) {
                let place = try #require(Double(bar.1))
                #expect(0 <= place && place <= 860, "\(trace)")
            }
        }
        let trace = Self.traces[0]
        #expect(trace.svg(width: .max).contains("width=\"10000\""))
        #expect(trace.svg(width: .min).contains("width=\"400\""))
    }
}
