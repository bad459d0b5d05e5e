// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeDownloads

@Suite("Waits between the exchanges of a download")
struct WaitTests {
    private let clock = ManualClock()
    private let directory = TemporaryFolder()

    private func client(_ transport: any Transport) -> Client {
        Client(
            transport: transport, stack: [], serializers: SerializerTable(), timeSource: clock)
    }

    /// What ends all of a client's calls.
    enum End: CaseIterable, Sendable {
        case cancelAll
        case shutdown

        func callAsFunction(_ client: Client, _ clock: ManualClock) async throws {
            switch self {
            case .cancelAll: client.cancelAll()
            case .shutdown:
                async let end: Void = client.shutdown(grace: .milliseconds(100))
                try await clock.waitForTimer(in: .milliseconds(100))
                clock.advance(by: .milliseconds(100))
                await end
            }
        }
    }

    @Test(
        "A download that waits to resume is listed, and ended with the other calls",
        arguments: End.allCases)
    func download(end: End) async throws {
        let server = RangeServer()
        server.update { $0.cut = 30_000 }
        let client = client(server.transport)
        let running = client.get("http://a.example/big.bin").startDownload(
            to: .directory(directory.url))
        try await clock.waitForTimer(in: .milliseconds(500))
        let calls = client.runningCalls
        #expect(calls.map { $0.request?.url } == ["http://a.example/big.bin"])
        try await end(client, clock)
        await #expect(throws: CancellationError.self) { try await running.value }
        #expect(running.state == .cancelled && clock.timerCount == 0)
        #expect(server.transport.sentCount == 1 && client.runningCallCount == 0)
        try await until("an empty folder") { directory.names.isEmpty }
    }

    @Test("The waits of a download double until more of it has come")
    func backoff() async throws {
        let begun = MockResponse.cut(
            after: Data("abc".utf8), of: 10, headers: ["ETag": "\"1\"", "Accept-Ranges": "bytes"])
        let transport = MockTransport([.any(begun, .connectionLost)])
        let running = client(transport).get(anywhere).startDownload(
            to: .directory(directory.url), options: DownloadOptions(resumes: 3))
        for wait in [Duration.milliseconds(500), .seconds(1), .seconds(2)] {
            try await clock.waitForTimer(in: wait)
            clock.advance(by: wait)
        }
        await expectError(.connection) { try await running.value }
        #expect(transport.sentCount == 4 && clock.timerCount == 0)
    }
}
