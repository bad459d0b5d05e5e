// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike
import TurnpikeDownloads
import TurnpikeTesting

/// A tour of Turnpike: a stack with a gate for each role, over real sockets and over a mock.
///
/// `swift run quickstart` starts a small server on loopback and calls it;
/// `swift run quickstart URL` calls that URL instead.
@main
struct Quickstart {
    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        do {
            if let url = arguments.first {
                try await Visit(url: url).run()
            } else {
                try await Tour().run()
            }
        } catch {
            print("failed: \(error)")
            exit(1)
        }
    }
}

/// A custom gate: it adds a field to every request that passes.
struct TenantHeader: SynchronousRequestAdapter {
    let tenant: String

    func adapt(_ request: inout Request, context: Context) {
        request.headers["X-Tenant"] = tenant
    }
}

/// The stack of the example: metrics and a log around the call; then a deadline, validation,
/// redirects and retries; and inside those a custom header.
func stack(metrics: MetricsStore) -> Stack {
    Stack {
        Metrics(metrics)
        Log(to: ConsoleSink())
        Deadline(.seconds(10))
        Validate()
        Redirect()
        Retry(attempts: 3, backoff: Backoff(base: .milliseconds(20)))
        AttemptTimeout(.seconds(3))
        TenantHeader(tenant: "blue")
    }
}

/// Writes log lines to standard output, among the output of the example.
struct ConsoleSink: LogSink {
    func write(_ line: String) { print("    log: " + line.drop { $0 != " " }.dropFirst()) }
    func flush() async {}
}

/// Writes the content into a temporary file, and prints when each quarter of it has arrived.
func download(_ call: Call) async throws -> DownloadedFile {
    let quarters = Mutex(0)
    let file = try await call.download(to: .temporary) { progress in
        let done = Int((progress.fractionReceived ?? 0) * 4)
        let isNew = quarters.withLock { quarters in
            defer { quarters = max(quarters, done) }
            return done > quarters
        }
        if isNew { print("    \(done * 25) %") }
    }
    print("    \(file.bytes) bytes in \(file.url.lastPathComponent)")
    return file
}

func show(_ timeline: Timeline) {
    func text(_ duration: Duration?) -> String {
        duration.map {
            $0.formatted(.units(allowed: [.milliseconds], fractionalPart: .show(length: 2)))
        } ?? "-"
    }
    print(
        "    head after \(text(timeline.latency)), body after \(text(timeline.requestDuration)),",
        terminator: " ")
    print("\(timeline.bodyBytesReceived) bytes")
}

func report(_ metrics: MetricsStore) {
    for (labels, series) in metrics.series.sorted(by: {
        ($0.key.status ?? 0) < ($1.key.status ?? 0)
    }) {
        let status = labels.status.map(String.init) ?? labels.errorType ?? "?"
        print(
            "    \(labels.method) \(status): \(series.duration.count) calls,", terminator: " ")
        print("\(Int(series.responseBodySize.sum)) bytes, \(series.resends) sent again")
    }
}
