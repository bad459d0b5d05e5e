// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware
@testable import TurnpikeTraffic

@Suite("Limits by latency")
struct LatencyProbeTests {
    // 40 workers with a queue, whose throughput falls by 30 % beyond 80 requests at once; there is
    // always another request that waits for a permit.
    private struct Server {
        var random: SeededGenerator
        let isEven: Bool
        var limit: Double
        var probe: LatencyProbe?

        private mutating func service(_ inFlight: Int) -> Double {
            let unit = Double.random(in: 1e-9..<1, using: &random)
            let time = 0.1 * (isEven ? 0.5 + unit : -log(unit))
            return inFlight > 80 ? time / 0.7 : time
        }

        // Requests a second, and the 99th percentile of their time, from second 30 to 60.
        mutating func run() -> (rate: Double, p99: Double) {
            // Ends of the requests at the workers, the next one last.
            var busy: [(end: Double, sent: Double)] = []
            var line: [Double] = []
            var head = 0
            var times: [Double] = []
            var now = 0.0
            func start(_ sent: Double, _ time: Double) {
                let end = now + time
                let place = busy.firstIndex { $0.end < end } ?? busy.count
                busy.insert((end, sent), at: place)
            }
            while now < 60 {
                var inFlight = busy.count + line.count - head
                while inFlight < Int(limit) {
                    inFlight += 1
                    if busy.count < 40 { start(now, service(inFlight)) } else { line.append(now) }
                }
                let (end, sent) = busy.removeLast()
                now = end
                if now >= 30 { times.append(now - sent) }
                if var current = probe {
                    limit = current.record(
                        sentAt: MonotonicInstant(nanoseconds: Int64(sent * 1e9)),
                        at: MonotonicInstant(nanoseconds: Int64(now * 1e9)), limit: limit,
                        within: 4...500)
                    probe = current
                }
                if head < line.count {
                    start(line[head], service(inFlight))
                    head += 1
                }
            }
            times.sort()
            return (Double(times.count) / 30, times[times.count * 99 / 100])
        }
    }

    @Test(
        "From any start, the limit is near the best fixed one within 30 seconds",
        arguments: [false, true])
    func study(isEven: Bool) {
        var fixed = Server(random: SeededGenerator(seed: 1), isEven: isEven, limit: 40)
        let best = fixed.run()
        let runs = (0..<20).map { seed -> (rate: Double, p99: Double) in
            var random = SeededGenerator(seed: UInt64(seed))
            let start = [1, 500, Int.random(in: 1...500, using: &random)][min(seed, 2)]
            var server = Server(
                random: random, isEven: isEven, limit: Double(start),
                probe: LatencyProbe(limit: Double(start)))
            return server.run()
        }
        let rate = runs.map(\.rate).sorted()[10] / best.rate
        let p99 = runs.map(\.p99).sorted()[10] / best.p99
        #expect(rate >= 0.9, "\(rate)")
        #expect(p99 <= 2, "\(p99)")
    }

    @Test("The clock is read once more for a call only where latency sets the limit")
    func clockReads() async throws {
        final class Counting: TimeSource {
            let clock = ManualClock()
            let reads = Tally()
            var now: MonotonicInstant {
                reads.add()
                return clock.now
            }
            var date: Date { clock.date }
            func schedule(
                after delay: Duration, _ handler: @escaping @Sendable () -> Void
            ) -> any TimerToken { clock.schedule(after: delay, handler) }
        }
        func reads(_ adaptive: AdaptiveLimit?) async throws -> Int {
            let source = Counting()
            let client = Client(
                MockTransport { _ in .ok() }, clock: source,
                [ConcurrencyLimit(adaptive: adaptive)])
            _ = try await client.get("http://a.example/").response()
            return source.reads.count
        }
        #expect(try await reads(AdaptiveLimit()) == reads(nil))
        #expect(try await reads(.latency) == reads(nil) + 1)
    }

    @Test("A limit by latency wants its place inside a retry and a cache, and says what it follows")
    func facts() {
        let gate = ConcurrencyLimit(adaptive: .latency)
        #expect(gate.facts(for: nil)?.order.map(\.kind) == [.retry, .cache])
        #expect(gate.facts(for: nil)?.summary.hasSuffix("adapts to latency") == true)
        #expect(ConcurrencyLimit(adaptive: AdaptiveLimit()).facts(for: nil)?.order.isEmpty == true)
    }
}
