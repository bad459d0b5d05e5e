// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCommandLine
@testable import TurnpikeCore
@testable import TurnpikeCurl

/// What comes from outside byte by byte: heads, coded bodies, the input of `exec`.
@Suite("The cost of the wire")
struct WireCosts {
    private static func head(_ name: String, _ unit: @escaping @Sendable (Int) -> String) -> Hostile
    {
        Hostile("a head of \(name), as it comes", size: 50_000) { size in
            Array(("HTTP/1.1 200 OK\r\n" + Hostile.numbered(size, unit) + "\r\n").utf8)
        } read: { bytes in
            unsafe bytes.withUnsafeBufferPointer {
                _ = unsafe CurlHead.opening(of: $0, url: URL(filePath: "/"), isHead: false)
            }
        }
    }

    private static let heads: [Hostile] = [
        head("many fields") { "A\($0): b\r\n" },
        head("lines of one field") { _ in "A: b\r\n" },
        head("lengths") { _ in "Content-Length: 1\r\n" },
        head("one length") { $0 == 0 ? "Content-Length: 1" : ",1" },
        head("codings") { $0 == 0 ? "Transfer-Encoding: chunked" : ",chunked" },
        head("folded lines") { $0 == 0 ? "A: b\r\n" : " b\r\n" },
        head("a long value") { $0 == 0 ? "A: " : "b " },
        head("lines without a colon") { _ in "a\r\n" },
        head("bare line feeds") { _ in "A: b\n" },
    ]

    private static let start: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]

    private static func coded(
        _ name: String, _ unit: [UInt8], _ cut: Cut, coding: String = "gzip",
        after start: [UInt8] = start
    ) -> Hostile {
        Hostile("\(coding) of \(name), \(cut)", size: cut == .bytes ? 500 : 50_000) { size in
            var content = Data(start)
            for _ in 0..<size / unit.count { content += unit }
            return cut.chunks(content)
        } reading: { chunks, simulation in
            let client = simulation.client(chunks, type: "a/b", Coded(coding: coding))
            let response = try await client.get("http://a.example/").response()
            _ = try await response.decoded().body.collect(upTo: .max)
        }
    }

    private static var bodies: [Hostile] {
        Cut.allCases.flatMap { cut in
            [
                coded("empty blocks", [0, 0, 0, 0xFF, 0xFF], cut),
                coded("empty members", [3, 0, 0, 0, 0, 0, 0, 0, 0, 0] + start, cut),
                coded(
                    "empty frames", [0x28, 0xB5, 0x2F, 0xFD, 0, 0x58, 1, 0, 0], cut,
                    coding: "zstd", after: []),
                coded(
                    "skippable frames", [0x50, 0x2A, 0x4D, 0x18, 0, 0, 0, 0], cut, coding: "zstd",
                    after: []),
                // Metadata of no bytes (RFC 7932 §9.2).
                coded("empty blocks", [0x06], cut, coding: "br", after: [0x0C]),
            ]
        }
    }

    private static func input(_ unit: String) -> Hostile {
        Hostile("lines of exec of “\(Grammar.escaped(unit))”") {
            Hostile.data(unit, $0)
        } read: { data in
            let place = Mutex(0)
            var lines = LineReader(maxBytes: 1 << 20) { count in
                place.withLock { place in
                    let chunk = data.dropFirst(place).prefix(min(count, 100))
                    place += chunk.count
                    return Data(chunk)
                }
            }
            while try lines.next() != nil {}
        }
    }

    private static let inputs = ["a", "\n", "a\n", "\r\n"].map { input($0) }

    private static func shown(_ unit: String) -> Hostile {
        Hostile("text on a terminal of “\(Grammar.escaped(unit))”") {
            Hostile.data(unit, $0)
        } read: { data in
            var text = TerminalText()
            for start in stride(from: 0, to: data.count, by: 100) {
                _ = text.show(data.dropFirst(start).prefix(100))
            }
            _ = text.end()
        }
    }

    private static let texts = ["a", "\u{1B}", "\r", "\u{301}", "👧"].map { shown($0) }

    private static func displayed(_ unit: String) -> Hostile {
        Hostile("JSON on a terminal of “\(unit)”, byte by byte") {
            Hostile.data(unit, $0)
        } read: { data in
            let terminal = Terminal(output: { _ in }, messages: { _ in }, outputIsTerminal: true)
            let display = SendDisplay(terminal, isPretty: true, timeSource: ManualClock())
            display.begin(["Content-Type": "application/json"])
            for start in data.indices { _ = try display.write(data[start..<start + 1]) }
            try display.end()
        }
    }

    private static let displays = ["[", " 1"].map { displayed($0) }

    /// Says that what comes is coded.
    private struct Coded: Interceptor {
        let coding: String

        func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
            var response = try await next(request)
            response.head = ResponseHead(
                status: 200, headers: ["Content-Encoding": coding], url: request.url)
            return response
        }
    }

    @Test(
        "grows with what is on the wire, and not with the square",
        arguments: heads + bodies + inputs + texts + displays)
    func wire(row: Hostile) async throws { try await row.check() }
}
