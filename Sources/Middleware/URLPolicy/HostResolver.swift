// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Resolves the names of hosts, for ``URLPolicy``.
public protocol HostResolver: Sendable {
    /// The addresses of a name.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/dns`` if it has none.
    func addresses(of name: String, context: Context) async throws -> [IPAddress]
}
