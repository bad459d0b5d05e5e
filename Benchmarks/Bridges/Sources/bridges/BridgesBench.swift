// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import Foundation
import Logging
import Tracing
import Turnpike
import TurnpikeLogging
import TurnpikeMetrics
import TurnpikeTesting
import TurnpikeTracing

/// The cost of the bridges to logging, metrics and tracing for a call over a mock.
///
/// The back ends do nothing. Prints medians of interleaved rounds, minus the call without bridges.
@main
enum BridgesBench {
    private struct Row {
        let name: String
        let stack: Stack
        /// The most microseconds that it should add; nil without such an aim.
        var aim: Double?
    }

    private static func rows() -> [Row] {
        let silent = LoggerSink(Logger(label: "none") { _ in SwiftLogNoOpLogHandler() })
        let quiet = LoggerSink(
            Logger(label: "quiet") { _ in
                var handler = CountingHandler()
                handler.logLevel = .error
                return handler
            })
        let written = LoggerSink(Logger(label: "written") { _ in CountingHandler() })
        let recorder = MetricsSystemRecorder(factory: NOOPMetricsHandler.instance)
        let tracer = NoOpTracer()
        return [
            Row(name: "none", stack: []),
            Row(name: "logging-no-op", stack: [.log(to: silent)]),
            Row(name: "logging-level-off", stack: [.log(to: quiet)]),
            Row(name: "logging-written", stack: [.log(to: written)]),
            Row(name: "metrics", stack: [.metrics(recorder)]),
            Row(name: "tracing", stack: [.tracing([], tracer: tracer)]),
            Row(
                name: "all-three",
                stack: [.tracing([.log(to: silent), .metrics(recorder)], tracer: tracer)], aim: 6),
        ]
    }

    static func main() async throws {
        let content = Data(repeating: 0x61, count: 1024)
        let rows = rows()
        let clients = rows.map { row in
            Client(
                transport: MockTransport(recordLimit: 0) { _ in .status(200, body: content) },
                stack: row.stack)
        }
        var times = rows.map { _ in [Double]() }
        for round in 0..<21 {
            for (index, client) in clients.enumerated() {
                let time = try await microseconds(client, calls: 2000)
                if round > 0 { times[index].append(time) }
            }
        }
        let medians = times.map { $0.sorted()[$0.count / 2] }
        for (row, time) in zip(rows, medians) {
            let added = time - medians[0]
            let aim = row.aim.map { added <= $0 ? "  (aim: \($0))" : "  MISSED: the aim is \($0)" }
            print(
                row.name.padding(toLength: 20, withPad: " ", startingAt: 0),
                String(format: "%6.2f µs, added %5.2f", time, added) + (aim ?? ""))
        }
    }

    private static func microseconds(_ client: Client, calls: Int) async throws -> Double {
        let request = Request(.get, "http://example.com/users/1")
        let clock = ContinuousClock()
        let start = clock.now
        for _ in 0..<calls {
            let response = try await client.request(request).response()
            _ = try await response.body.collect(upTo: 4096)
        }
        return Double((clock.now - start) / .nanoseconds(1)) / 1000 / Double(calls)
    }
}

/// A handler that accepts entries like a real one, but discards them.
struct CountingHandler: LogHandler {
    var metadata = Logger.Metadata()
    var metadataProvider: Logger.MetadataProvider?
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {}
}
