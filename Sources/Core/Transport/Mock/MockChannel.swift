// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeSupport

final class MockChannel: UpgradedChannel {
    private final class Lane: Sendable {
        struct State {
            var bytes = Data()
            var hasEnded = false
            var waiters: [OneShot<Void>] = []
        }

        let state = Mutex(State())

        func change<Result>(_ change: (inout State) -> sending Result) -> sending Result {
            let (result, waiters) = state.withLock { state in
                let result = change(&state)
                defer { state.waiters = [] }
                return (result, state.waiters)
            }
            for waiter in waiters { waiter.settle(.success(())) }
            return result
        }

        func wait(while condition: (State) -> Bool) async throws {
            while true {
                let moment = OneShot<Void>()
                let waits = state.withLock { state in
                    guard condition(state) else { return false }
                    state.waiters.append(moment)
                    return true
                }
                if !waits { return }
                try await moment.value { moment.settle(.failure(CancellationError())) }
            }
        }
    }

    private let incoming: Lane
    private let outgoing: Lane

    private static let highWater = 65_536

    private init(_ incoming: Lane, _ outgoing: Lane) {
        (self.incoming, self.outgoing) = (incoming, outgoing)
    }

    static func pair() -> (MockChannel, MockChannel) {
        let (one, other) = (Lane(), Lane())
        return (MockChannel(one, other), MockChannel(other, one))
    }

    func read(upTo maxBytes: Int) async throws -> Data? {
        try await incoming.wait { $0.bytes.isEmpty && !$0.hasEnded }
        return incoming.change { state in
            guard !state.bytes.isEmpty else { return nil }
            defer { state.bytes = Data(state.bytes.dropFirst(maxBytes)) }
            return Data(state.bytes.prefix(maxBytes))
        }
    }

    func write(_ bytes: Data) async throws {
        let hasEnded = outgoing.change { state in
            if !state.hasEnded { state.bytes += bytes }
            return state.hasEnded
        }
        if hasEnded { throw ClientError(.connection, "the connection is closed") }
        try await outgoing.wait { $0.bytes.count > Self.highWater && !$0.hasEnded }
    }

    func finishWriting() async throws { outgoing.change { $0.hasEnded = true } }

    func close() {
        outgoing.change { $0.hasEnded = true }
        incoming.change { $0.hasEnded = true }
    }
}
