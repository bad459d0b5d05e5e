// SPDX-License-Identifier: Apache-2.0

/// A primary and its replica.
package final class ValkeyPair: Sendable {
    /// The server that starts as the primary.
    package let first: ValkeyPeer
    /// The server that starts as the replica of the first one.
    package let second: ValkeyPeer

    /// Starts both, and returns when the replica has the data of the primary.
    package init() throws {
        let options = ["--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "0"]
        first = try ValkeyPeer(options: options)
        second = try ValkeyPeer(options: options)
        try demote(second, below: first)
    }

    /// Makes a server a primary.
    package func promote(_ peer: ValkeyPeer) throws {
        try peer.command("REPLICAOF", "NO", "ONE")
    }

    /// Makes a server the replica of another one, and returns when it has its data.
    package func demote(_ peer: ValkeyPeer, below primary: ValkeyPeer) throws {
        try peer.command("REPLICAOF", "127.0.0.1", "\(primary.port)")
        try peer.wait(for: "a replica") { try peer.info("master_link_status") == "up" }
    }

    /// Makes the second server the primary and the first one its replica, as a failover does.
    package func failOver() throws {
        try promote(second)
        try demote(first, below: second)
    }
}
