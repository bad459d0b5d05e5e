// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike

/// The cost of converting bytes in memory into values.
///
/// JSON is compared with Foundation, lines and events are not compared, and decoding content is
/// compared with a loop over the same library.
enum ValuesBench {
    private struct Item: Codable, Sendable {
        let id: Int
        let name: String
        let price: Double
        let tags: [String]
        let note: String?
    }

    private static let rounds = 7

    static func run(_ report: Report) async throws {
        let items = (0..<80_000).map { index in
            Item(
                id: index, name: "item number \(index), with \"quotes\" and é",
                price: Double(index) * 1.25, tags: ["a", "b\(index % 10)"],
                note: index % 3 == 0 ? nil : "short")
        }
        let json = try JSONEncoder().encode(items)
        let decoder = JSONDecoder()
        let head = ResponseHead(status: 200, url: URL(filePath: "/"))
        let request = Request(.get, URL(filePath: "/"))

        let reference = try time { _ = try JSONSerialization.jsonObject(with: json) }
        let value = try time { _ = try JSONValue(parsing: json) }
        line(report, "JSONSerialization", json, reference, nil)
        line(report, "JSONValue", json, value, value / reference)

        let plain = try time { _ = try decoder.decode([Item].self, from: json) }
        let ours = try await timeAsync {
            let response = Response(head: head, body: ResponseBody(json))
            _ = try await DecodableSerializer([Item].self, with: JSONValueDecoder()).serialize(
                response, context: SerializationContext(request: request, table: .standard))
        }
        line(report, "JSONDecoder", json, plain, nil)
        line(report, "decode", json, ours, ours / plain)
        try await call(report, decoding: try JSONEncoder().encode(Array(items.prefix(640))))

        let chunks = Chunks(
            data: Data(
                String(
                    repeating:
                        "a line of a log, of some eighty bytes, as they are written by most servers today\n",
                    count: 1_000_000
                ).utf8))
        let lines = try await timeAsync {
            var count = 0
            for try await text in ResponseBody(source: chunks.source()).lines() {
                count += text.utf8.count
            }
            precondition(count > 0)
        }
        line(report, "lines", chunks.data, lines, nil)

        let events = Chunks(
            data: Data(
                String(
                    repeating:
                        "id: 17\nevent: message\ndata: {\"temperature\":21.5,\"place\":\"kitchen\"}\n\n",
                    count: 1_000_000
                ).utf8))
        let transport = MockTransport(recordLimit: 0) { _ in .ok() }
        let client = Client(transport: transport, stack: [EventSource(chunks: events)])
        let sse = try await timeAsync {
            var count = 0
            for try await event in client.get("http://a.example/").events(reconnects: 0) {
                count += event.data.utf8.count
            }
            precondition(count > 0)
        }
        line(report, "events", events.data, sse, nil)
        try await codings(report, of: Data(json.prefix(1 << 20)))
    }

    /// Whole calls over a mock that decode about 64 KiB, beside the decoder alone.
    private static func call(_ report: Report, decoding json: Data) async throws {
        let transport = MockTransport(recordLimit: 0) { _ in
            .status(200, headers: ["Content-Type": "application/json"], body: json)
        }
        let client = Client(transport: transport, stack: .standard)
        let decoder = JSONDecoder()
        let plain = try time {
            for _ in 0..<100 { _ = try decoder.decode([Item].self, from: json) }
        }
        let ours = try await timeAsync {
            for _ in 0..<100 { _ = try await client.get("http://a.example/").decode([Item].self) }
        }
        line(report, "JSONDecoder, 64 KiB", json, plain / 100, nil)
        report.line(
            fields("a call that decodes it", json, ours / 100), "ratio", ours / plain, .atMost(1.25)
        )
    }

    private static func codings(_ report: Report, of content: Data) async throws {
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
        defer { room.deallocate() }
        for loop in [CodingLoops.brotli, CodingLoops.zstd].compactMap(\.self) {
            let chunks = Chunks(data: try loop.encode(content))
            let head = ResponseHead(
                status: 200, headers: ["Content-Encoding": loop.name], url: URL(filePath: "/"))
            let plain = time {
                let count = chunks.data.withUnsafeBytes { loop.decode($0, room) }
                precondition(count == content.count)
            }
            let ours = try await timeAsync {
                let response = Response(head: head, body: ResponseBody(source: chunks.source()))
                var count = 0
                for try await piece in try response.decoded().body { count += piece.count }
                precondition(count == content.count)
            }
            line(report, "\(loop.name) in a loop", content, plain, nil)
            report.line(
                fields(loop.name, content, ours), "ratio", ours / plain, .atMost(1 / 0.9))
        }
    }

    private static func line(
        _ report: Report, _ name: String, _ data: Data, _ seconds: Double, _ ratio: Double?
    ) {
        var figures = fields(name, data, seconds)
        if let ratio { figures.append(("ratio", .number(ratio))) }
        report.line(figures)
    }

    private static func fields(
        _ name: String, _ data: Data, _ seconds: Double
    ) -> [(String, Report.Value)] {
        [
            ("bench", "values"), ("case", .text(name)),
            ("megabytes", .number(Double(data.count) / 1e6)),
            ("milliseconds", .number(seconds * 1e3)),
            ("megabytesPerSecond", .number(Double(data.count) / 1e6 / seconds)),
        ]
    }

    // Returns the best of several runs, because the others were disturbed.
    private static func time(_ body: () throws -> Void) rethrows -> Double {
        var best = Double.infinity
        for _ in 0..<rounds {
            let begin = Usage.cpuSeconds
            try body()
            best = min(best, Usage.cpuSeconds - begin)
        }
        return best
    }

    private static func timeAsync(_ body: () async throws -> Void) async rethrows -> Double {
        var best = Double.infinity
        for _ in 0..<rounds {
            let begin = Usage.cpuSeconds
            try await body()
            best = min(best, Usage.cpuSeconds - begin)
        }
        return best
    }
}

/// Bytes in chunks of the size that a network delivers.
private struct Chunks: Sendable {
    let data: Data

    func source() -> any ResponseBodySource { Source(data: data) }

    private final class Source: ResponseBodySource, @unchecked Sendable {
        // SAFETY: only one reader at a time calls `next`.
        private let data: Data
        private var position = 0

        init(data: Data) { self.data = data }

        func next() async throws -> Data? {
            guard position < data.count else { return nil }
            let end = min(position + 65_536, data.count)
            defer { position = end }
            return data[position..<end]
        }

        func cancel(_ reason: CancelReason) {}
    }
}

private struct EventSource: Interceptor {
    let chunks: Chunks

    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        Response(
            to: request, status: 200, headers: ["Content-Type": "text/event-stream"],
            body: ResponseBody(source: chunks.source()))
    }
}
