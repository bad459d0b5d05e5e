// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("SystemHostResolver")
struct SystemHostResolverTests {
    @Test("The hosts file is used, and a name without address is a resolution error")
    func system() async throws {
        let resolver = SystemHostResolver()
        let addresses = try await resolver.addresses(of: "localhost", context: Context())
        #expect(!addresses.isEmpty && !addresses.contains(where: \.isPublic))
        await #expect {
            try await resolver.addresses(of: "name..invalid", context: Context())
        } throws: {
            ClientError.Code.dns ~= $0
        }
    }

    @Test("A name is resolved once at a time and kept for a while; others wait for a thread")
    func sharing() async throws {
        let asked = Mutex<[String]>([])
        let gate = DispatchSemaphore(value: 0)
        let resolver = SystemHostResolver(width: 1) { name in
            asked.withLock { $0.append(name) }
            gate.wait()
            return [IPAddress(v4: 0x0808_0808)]
        }
        let clock = ManualClock()
        let context = Context(timeSource: clock)
        let waiters = (0..<20).map { number in
            Task { try await resolver.addresses(of: "\(number % 2).example", context: context) }
        }
        gate.signal()
        gate.signal()
        for waiter in waiters { #expect(try await waiter.value.count == 1) }
        #expect(Set(asked.withLock { $0 }) == ["0.example", "1.example"])
        let before = asked.withLock { $0.count }
        _ = try await resolver.addresses(of: "0.example", context: context)
        #expect(asked.withLock { $0.count } == before)
        clock.advance(by: .seconds(10))
        gate.signal()
        _ = try await resolver.addresses(of: "0.example", context: context)
        #expect(asked.withLock { $0.count } == before + 1)
    }

    @Test("Of many names the latest are known, and no more than 1,024")
    func capacity() async throws {
        let asked = Tally()
        let resolver = SystemHostResolver(width: 1) { _ in
            asked.add()
            return []
        }
        let context = Context(timeSource: ManualClock())
        for number in Array(0..<1024) + [0, 1024, 1024, 0] {
            _ = try await resolver.addresses(of: "\(number).example", context: context)
        }
        #expect(asked.count == 1026)
    }

    @Test("A wait for a name can be cancelled by task and by context")
    func cancellation() async throws {
        let gate = DispatchSemaphore(value: 0)
        defer {
            gate.signal()
            gate.signal()
        }
        let resolver = SystemHostResolver(width: 1) { _ in
            gate.wait()
            return []
        }
        let context = Context()
        let byTask = Task { try await resolver.addresses(of: "a.example", context: context) }
        byTask.cancel()
        await #expect(throws: CancellationError.self) { try await byTask.value }
        let inner = context.child()
        inner.cancel(.failed(ClientError(.deadlineExceeded, "over")))
        await #expect {
            try await resolver.addresses(of: "b.example", context: inner)
        } throws: {
            ClientError.Code.deadlineExceeded ~= $0
        }
    }
}
