// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Which node gets a command.
enum Route: Sendable {
    /// The primary, or any node of a cluster.
    case any
    /// The node that has the slot of a key, if the server is a cluster.
    case key(Data)
    /// The node to which another one has redirected.
    case node(NodeAddress)
    /// The same, for a slot that it does not have yet.
    case asking(NodeAddress)
}
