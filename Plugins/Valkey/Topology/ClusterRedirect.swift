// SPDX-License-Identifier: Apache-2.0

/// Where a node of a cluster sends a command that is not for it.
enum ClusterRedirect: Equatable {
    /// The slot has moved.
    case moved(slot: Int, to: NodeAddress)
    /// The slot is on its way; the command is to be sent there once.
    case ask(NodeAddress)

    /// Reads `MOVED 3999 127.0.0.1:6381` or `ASK 3999 127.0.0.1:6381`.
    /// - Returns: Nil if the text is something else, or names what cannot be a node.
    init?(_ text: String, by server: NodeAddress) {
        guard text.hasPrefix("MOVED ") || text.hasPrefix("ASK ") else { return nil }
        let words = text.split(separator: " ")
        guard words.count >= 3, let slot = Int(words[1]), slot >= 0, slot < KeySlot.count,
            let address = NodeAddress(redirect: words[2], by: server)
        else { return nil }
        self = words[0] == "MOVED" ? .moved(slot: slot, to: address) : .ask(address)
    }
}
