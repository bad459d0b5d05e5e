// SPDX-License-Identifier: Apache-2.0

import Foundation
package import Testing

/// What a run of the tests is for: a loop of a minute or two, or everything.
///
/// `swift test` is the short run. `TURNPIKE_TESTS=all`, which `scripts/check` sets, runs long tests at their
/// whole size, and those that have no short form.
package enum Runs {
    package static let areAll = ProcessInfo.processInfo.environment["TURNPIKE_TESTS"] == "all"

    /// The size of a test: the number of its calls, seeds or bytes.
    package static func size<Value>(_ short: Value, all: Value) -> Value { areAll ? all : short }
}

extension Trait where Self == ConditionTrait {
    /// For a test whose short form is another test.
    package static var long: Self {
        .enabled(if: Runs.areAll, "long; TURNPIKE_TESTS=all runs it")
    }
}
