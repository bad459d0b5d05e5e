// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeDownloads

/// The main steps against the URL that the caller names, and then the same stack over a mock that
/// answers like that server.
struct Visit {
    let url: String

    func run() async throws {
        let metrics = MetricsStore()
        let client = Client(stack: stack(metrics: metrics))
        let call = client.get(url)

        print("1. The content, as a value of its type")
        let running = call.start(.auto)
        print("    \(describe(try await running.value))")
        show(running.timeline)

        print("2. A download with progress")
        let file = try await download(call)
        defer { try? FileManager.default.removeItem(at: file.url) }
        await client.shutdown(grace: .seconds(1))

        print("3. What was measured")
        report(metrics)

        print("4. The same stack over a mock, which fails once before it answers")
        let content = file.bytes <= 1 << 20 ? try Data(contentsOf: file.url) : Data("large".utf8)
        let type = file.bytes <= 1 << 20 ? file.head.headers[.contentType] : "text/plain"
        let transport = MockTransport([
            .any(
                .status(503),
                .status(200, headers: ["Content-Type": type ?? "text/plain"], body: content))
        ])
        let mocked = Client(transport: transport, stack: stack(metrics: MetricsStore()))
        print("    \(describe(try await mocked.get(url).auto()))")
        print("    the mock was asked \(transport.sentCount) times")
    }

    private func describe(_ value: any Sendable) -> String {
        switch value {
        case let value as JSONValue: "JSON: \(String(describing: value).prefix(200))"
        case let value as PropertyListValue:
            "a property list: \(String(describing: value).prefix(200))"
        case let text as String: "text: \(Redaction.standard.text(String(text.prefix(200))))"
        case let data as Data: "\(data.count) bytes"
        default: "a \(type(of: value))"
        }
    }
}
