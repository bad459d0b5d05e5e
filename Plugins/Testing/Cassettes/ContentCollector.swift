// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TurnpikeCore

/// Keeps a copy of content while it is transferred, and the sizes of its chunks.
final class ContentCollector: Sendable {
    private struct State {
        var content: Data?
        var sizes: [Int] = []
    }

    private let limit: Int
    private let state = Mutex(State())

    init(limit: Int) { self.limit = limit }

    /// The content so far; nil before the first chunk.
    var content: Data? { state.withLock { $0.content } }

    /// The sizes of the first chunks.
    var sizes: [Int] { state.withLock { $0.sizes } }

    func add(_ chunk: Data) throws {
        let isTooLarge = state.withLock { state in
            if (state.content?.count ?? 0) + chunk.count > limit { return true }
            state.content?.append(chunk)
            state.content = state.content ?? chunk
            if state.sizes.count <= 10_000 { state.sizes.append(chunk.count) }
            return false
        }
        if isTooLarge { throw Self.tooLarge(limit) }
    }

    static func tooLarge(_ limit: Int) -> ClientError {
        ClientError(
            .tooLarge,
            "a cassette records up to \(limit) bytes of one content; raise maxBytes in its options")
    }

    /// Returns the same body, which records its chunks when it is sent.
    func recording(_ body: RequestBody) -> RequestBody { body.observed { [self] in try add($0) } }
}
