// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCore

/// A folder for the cassettes of one test, removed with it.
final class CassetteFolder: Sendable {
    let url = FileManager.default.temporaryDirectory.appending(
        path: "turnpike-cassettes-\(UUID().uuidString)")

    deinit { try? FileManager.default.removeItem(at: url) }

    var file: URL { url.appending(path: "tape.har") }

    func write(_ text: String) throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
    }

    func text() throws -> String { String(decoding: try Data(contentsOf: file), as: UTF8.self) }

    func har() throws -> JSONValue { try JSONValue(parsing: try Data(contentsOf: file)) }

    func entries() throws -> [JSONValue] { try har()["log"]?["entries"]?.array ?? [] }

    /// A client that records what a mock answers.
    func recording(
        _ mode: CassetteTransport.Mode = .record, options: CassetteOptions = CassetteOptions(),
        stack: Stack = [], clock: any TimeSource = ManualClock(),
        _ answer: @escaping @Sendable (Request) async throws -> MockResponse
    ) throws -> (client: Client, cassette: CassetteTransport, mock: MockTransport) {
        let mock = MockTransport(answer)
        let cassette = try CassetteTransport(
            file: file, mode: mode, transport: mock, options: options)
        let client = Client(
            transport: cassette, stack: stack, timeSource: clock,
            randomSource: SeededRandomSource(seed: 1))
        return (client, cassette, mock)
    }

    /// A client that replays what was recorded.
    func replaying(
        options: CassetteOptions = CassetteOptions(), stack: Stack = [],
        clock: any TimeSource = ManualClock()
    ) throws -> (client: Client, cassette: CassetteTransport) {
        let cassette = try CassetteTransport(file: file, options: options)
        let client = Client(
            transport: cassette, stack: stack, timeSource: clock,
            randomSource: SeededRandomSource(seed: 1))
        return (client, cassette)
    }
}
