// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Resolves the names of hosts, for ``URLPolicy``.
public protocol HostResolver: Sendable {
    /// Returns the addresses of a name.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/dns`` if the name has no address.
    func addresses(of name: String, context: Context) async throws -> [IPAddress]
}
