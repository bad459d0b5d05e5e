// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TestSupport

@testable import TurnpikeCore

/// The code of the error that a call ends with.
func code(of call: Call) async -> ClientError.Code? {
    do {
        _ = try await call.serialize(with: Text())
        return nil
    } catch {
        return (error as? ClientError)?.code
    }
}

/// Counts down.
final class Countdown: Sendable {
    private let left: Mutex<Int>
    init(_ count: Int) { left = Mutex(count) }
    func takeOne() -> Bool {
        left.withLock { left in
            left -= 1
            return left >= 0
        }
    }
}
