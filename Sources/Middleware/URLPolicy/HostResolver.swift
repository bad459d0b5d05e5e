public import TurnpikeCore

/// Finds the addresses of a host's name, for ``URLPolicy``.
public protocol HostResolver: Sendable {
    /// The addresses of a name.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/dns`` where it has none.
    func addresses(of name: String, context: Context) async throws -> [IPAddress]
}
