// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import Turnpike

@Suite("The standard stack, from several threads")
struct StandardStackConcurrencyTests {
    @Test("A thousand concurrent calls get their own responses, lost ones at the second attempt")
    func calls() async throws {
        let lost = Mutex<Set<String>>([])
        let transport = MockTransport(recordLimit: 0) { request in
            let path = request.url.path()
            let isLost = lost.withLock { path.hasSuffix("7") && $0.insert(path).inserted }
            if isLost {
                throw ClientError(.connection, "lost", transfer: TransferState(.connecting))
            }
            return path.hasPrefix("/moved/")
                ? .status(307, headers: ["Location": path.replacing("moved", with: "users")])
                : .ok(json: ["path": .string(path)])
        }
        let client = Client(baseURL: "http://a.example/", transport: transport, stack: .standard)
        let wrong = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0..<1000 {
                group.addTask {
                    let path = number % 2 == 0 ? "users/\(number)" : "moved/\(number)"
                    let answer = try await client.get(Target(path)).json()
                    return answer["path"]?.string != "/users/\(number)"
                }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(wrong == 0)
        // 500 calls that are redirected; 100 calls are lost once, at their old and new place.
        #expect(transport.sentCount == 1000 + 500 + 200)
        await client.shutdown()
    }

    // Were a call left open, the shutdown would wait for it beyond the limit.
    @Test(
        "A thousand calls of which half are cancelled leave nothing open", .timeLimit(.minutes(2)))
    func cancelling() async {
        let transport = MockTransport(recordLimit: 0) { _ in
            .stream([Data("a".utf8), Data("b".utf8)], every: .microseconds(200))
        }
        let client = Client(baseURL: "http://a.example/", transport: transport, stack: .standard)
        await withTaskGroup { group in
            for number in 0..<1000 {
                group.addTask {
                    let task = Task { try await client.get("x").string() }
                    if number % 2 == 0 { task.cancel() }
                    do {
                        #expect(try await task.value == "ab")
                    } catch {
                        #expect(error is CancellationError && number % 2 == 0)
                    }
                }
            }
        }
        await client.shutdown(grace: .seconds(600))
        #expect(client.runningCallCount == 0)
    }
}
