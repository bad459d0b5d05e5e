// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeDownloads
import TurnpikeTesting

@Suite("Progress of downloads")
struct ProgressTests {
    private let client = Client(
        baseURL: "http://a.example/",
        transport: MockTransport { _ in .stream([Data(count: 3), Data(count: 4)]) }, stack: [])
    private let file = DownloadDestination.file(
        FileManager.default.temporaryDirectory.appending(path: "turnpike-\(UUID())"))

    @MainActor
    private final class Model {
        var received: [Int64] = []

        func save(_ call: Call, to file: DownloadDestination) async throws -> DownloadedFile {
            try await call.download(to: file) { received.append($0.bytesReceived) }
        }
    }

    private actor Worker {
        var received: [Int64] = []

        func save(_ call: Call, to file: DownloadDestination) async throws -> DownloadedFile {
            try await call.download(to: file) { received.append($0.bytesReceived) }
        }
    }

    @Test("A model of the main actor is changed where progress is reported")
    @MainActor
    func mainActor() async throws {
        let model = Model()
        let saved = try await model.save(client.get("a"), to: file)
        defer { try? FileManager.default.removeItem(at: saved.url) }
        #expect(model.received == [3, 7])
    }

    @Test("So is the state of an actor")
    func actor() async throws {
        let worker = Worker()
        let saved = try await worker.save(client.get("a"), to: file)
        defer { try? FileManager.default.removeItem(at: saved.url) }
        #expect(await worker.received == [3, 7])
    }

    @Test("So is a variable of the function that downloads")
    func variable() async throws {
        var received: [Int64] = []
        let saved = try await client.get("a").download(to: file) { progress in
            received.append(progress.bytesReceived)
        }
        defer { try? FileManager.default.removeItem(at: saved.url) }
        #expect(received == [3, 7])
    }
}
