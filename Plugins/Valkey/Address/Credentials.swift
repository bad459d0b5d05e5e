// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore

/// The user and the password of a connection, which nothing prints.
struct Credentials: Sendable, DescriptionReflectable {
    /// The user of an ACL; nil for a password alone.
    let user: String?
    let password: String

    var description: String { Redaction.mark }

    /// The arguments of `AUTH`.
    var arguments: [Data] {
        (["AUTH"] + [user].compactMap(\.self) + [password]).map { Data($0.utf8) }
    }
}
