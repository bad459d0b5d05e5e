// SPDX-License-Identifier: Apache-2.0

import Foundation

extension Array {
    /// All elements with `TURNPIKE_TESTS=all`, else every so many-th.
    func sample(every step: Int) -> [Element] {
        if ProcessInfo.processInfo.environment["TURNPIKE_TESTS"] == "all" { return self }
        return stride(from: 0, to: count, by: step).map { self[$0] }
    }
}
