// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TurnpikeTesting

@testable import TurnpikeCore

struct BrokenOff: Error, Equatable {}

/// Bytes that come in chunks of a size, and may break off behind them.
final class Portions: ResponseBodySource {
    private let rest: Mutex<Data>
    private let size: Int
    private let failure: (any Error)?

    init(_ data: Data, of size: Int, failure: (any Error)?) {
        rest = Mutex(data)
        self.size = size
        self.failure = failure
    }

    func next() async throws -> Data? {
        let chunk = rest.withLock { rest in
            defer { rest = Data(rest.dropFirst(size)) }
            return rest.prefix(size)
        }
        if chunk.isEmpty, let failure { throw failure }
        return chunk.isEmpty ? nil : chunk
    }

    func cancel(_ reason: CancelReason) {}
}

/// A body that comes in chunks of a size, and may break off behind them.
func body(_ text: String, chunk: Int = 1000, failure: (any Error)? = nil) -> ResponseBody {
    ResponseBody(source: Portions(Data(text.utf8), of: chunk, failure: failure))
}

/// The items of a sequence, and the error behind them.
func all<Items: AsyncSequence>(
    _ items: Items
) async -> (items: [Items.Element], error: (any Error)?) {
    var found: [Items.Element] = []
    do {
        for try await item in items { found.append(item) }
        return (found, nil)
    } catch {
        return (found, error)
    }
}

/// Gives one response after the other, and keeps the requests.
final class ScriptedTransport: Transport {
    typealias Answer = @Sendable (Request) throws -> Response

    private struct State {
        var answers: [Answer]
        var requests: [Request] = []
    }

    let capabilities: TransportCapabilities = []
    private let state: Mutex<State>

    init(_ answers: Answer...) { state = Mutex(State(answers: answers)) }

    var requests: [Request] { state.withLock { $0.requests } }

    func send(_ request: Request, context: Context) async throws -> Response {
        let answer = state.withLock { state -> Answer? in
            state.requests.append(request)
            return state.answers.isEmpty ? nil : state.answers.removeFirst()
        }
        guard let answer else { throw ClientError(.connection, "nothing more is scripted") }
        return try answer(request)
    }

    func shutdown() async {}
}
