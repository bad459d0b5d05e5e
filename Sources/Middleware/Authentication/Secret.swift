// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// A text that is never printed or dumped, and that equals only a text of the same bytes.
struct Secret: Sendable, Hashable {
    let value: String

    init(_ value: String) { self.value = value }

    static func == (left: Self, right: Self) -> Bool { Grammar.areSame(left.value, right.value) }
}

extension Secret: CustomStringConvertible, CustomReflectable {
    var description: String { "REDACTED" }
    var customMirror: Mirror { Mirror(self, children: []) }
}
