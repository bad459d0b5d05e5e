// SPDX-License-Identifier: Apache-2.0

import Turnpike

/// What one request of the storm is and what becomes of it, by the seed and its number alone.
struct StormPlan {
    enum Kind: CaseIterable {
        case plain
        case delayed
        case drip
        case large
        case found
        case kept
        case sendData
        case sendFile
        case sendStream
        case held
        case dropped
    }

    enum Owner {
        case task
        case handle
    }

    let kind: Kind
    /// Whether the client has the standard stack, or an empty one.
    let isStandard: Bool
    /// When it is cancelled, in microseconds from its start; nil where it may run to its end.
    let cancelAfter: Int?
    let owner: Owner
    /// The deadline of a held request that nobody cancels.
    let deadline: Int

    init(seed: UInt64, number: Int) {
        var random = SeededGenerator(seed: seed &* 1_000_003 &+ UInt64(number))
        kind = Kind.allCases[Int.random(in: Kind.allCases.indices, using: &random)]
        isStandard = Bool.random(using: &random)
        let isCancelled = Bool.random(using: &random)
        let moment = Int.random(in: 0...20_000, using: &random)
        cancelAfter = isCancelled ? moment : nil
        deadline = 5000 + moment
        owner = Int.random(in: 0..<4, using: &random) == 0 ? .handle : .task
    }
}
