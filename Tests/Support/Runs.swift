// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
package import Testing

/// What a run of the tests is for: a loop of a minute or two, or everything.
///
/// `swift test` is the short run. `TURNPIKE_TESTS=all`, which `scripts/check` sets, runs long tests at their
/// whole size, and those that have no short form.
package enum Runs {
    package static let areAll = kind == "all"
    /// Whether tests that measure the machine run, and no other beside them.
    package static let areAlone = kind == "alone"
    private static let kind = ProcessInfo.processInfo.environment["TURNPIKE_TESTS"]

    /// The size of a test: the number of its calls, seeds or bytes.
    package static func size<Value>(_ short: Value, all: Value) -> Value { areAll ? all : short }

    // MARK: What a machine lacks

    private static let missing = Mutex<Set<String>>([])
    private static let atEnd = atexit {
        for need in Runs.missing.withLock({ $0.sorted() }) { print("Not run: what needs \(need).") }
    }

    /// Notes what this machine lacks; each kind is a line at the end of the run.
    fileprivate static func lacks(_ need: String) {
        _ = atEnd
        missing.withLock { _ = $0.insert(need) }
    }
}

extension Trait where Self == ConditionTrait {
    /// For a test whose short form is another test.
    package static var long: Self { needs("TURNPIKE_TESTS=all", if: Runs.areAll) }

    /// For a test that measures what the machine does, and so wants it for itself.
    package static var alone: Self {
        needs("TURNPIKE_TESTS=alone and --no-parallel", if: Runs.areAlone)
    }

    /// For a test that needs what a machine may lack: it is skipped there, and the end of the run says so.
    /// - Parameters:
    ///   - need: What to install or to set, as in "redis-server".
    ///   - isThere: Whether it is there.
    /// - Returns: The condition.
    package static func needs(
        _ need: String, if isThere: @autoclosure @escaping @Sendable () -> Bool
    ) -> Self {
        needs(need, isThere)
    }

    /// The same for what takes a while to find out.
    package static func needs(
        _ need: String, _ isThere: @escaping @Sendable () async -> Bool
    ) -> Self {
        .enabled("needs \(need)") {
            if await isThere() { return true }
            Runs.lacks(need)
            return false
        }
    }
}
