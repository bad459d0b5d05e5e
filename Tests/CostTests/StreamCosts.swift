// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeSerializers

/// Lines, events and parts, which are read while they come.
@Suite("The cost of streams")
struct StreamCosts {
    private typealias Reader = @Sendable (Call) async throws -> Void

    private static let readers: [(name: String, type: String, read: Reader)] = [
        ("lines", "text/plain", { for try await _ in $0.lines() {} }),
        (
            "JSON lines", "application/x-ndjson",
            { for try await _ in $0.jsonLines(skippingInvalid: true) {} }
        ),
        ("events", "text/event-stream", { for try await _ in $0.events(reconnects: 0) {} }),
        ("parts", "multipart/mixed; boundary=b", { for try await _ in $0.parts() {} }),
        ("content", "text/plain", { _ = try await $0.data() }),
    ]

    private static let units = [
        "x", "\n", "\r", "\r\n", "a\n", "a\r", "data: x\n", "data: x\n\n", "id: x\n", "retry: 1\n",
        ":\r", "{}\n", "[\n", "\"\n", "\u{301}", "\r\n--", "\r\n--b\r\n\r\n", "\r\n--b ",
        "\r\n--bb",
        "--b\r\n",
        "\r\n--b\r\nA: b\r\n\r\nx", "\r\n--b\r\nA: b\r\n ",
        "\r\n--b" + String(repeating: " ", count: 300),
    ]

    private static var streams: [Hostile] {
        readers.flatMap { reader in
            units.flatMap { unit in
                Cut.allCases.map { cut in
                    Hostile(
                        "\(reader.name) of “\(Grammar.escaped(unit, upTo: 30))”, \(cut)",
                        size: cut == .bytes ? 500 : 5_000
                    ) { size in
                        cut.chunks(
                            Hostile.data(
                                reader.name == "parts" ? "--b\r\n\r\n" : "", unit, "", size))
                    } reading: { chunks, simulation in
                        try await reader.read(
                            simulation.client(chunks, type: reader.type).get("http://a.example/"))
                    }
                }
            }
        }
    }

    @Test("grows with its size, and not with the square", arguments: streams)
    func stream(row: Hostile) async throws { try await row.check() }
}
