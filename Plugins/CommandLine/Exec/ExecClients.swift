import Foundation
import Turnpike

/// The clients of `exec`: one for each name, made by the first line that names it.
final class ExecClients {
    private var clients: [String: ConfiguredClient] = [:]
    private let base: StackFile?
    // One for all clients: what they share by a path, as a file of metrics, they share whole.
    private let registry = Registry.commandLine

    init(base: StackFile?) { self.base = base }

    /// What describes the client for a line: the line's parts, over those of the command's file.
    ///
    /// A client that exists is what it is; the parts of later lines are not looked at.
    func file(for name: String?, _ parts: JSONObject) throws -> StackFile {
        if let name, let known = clients[name] { return known.file }
        return try StackFile(.object(parts), over: base)
    }

    /// The client for a line, and whether it is the line's own.
    func client(named name: String?, _ file: StackFile) throws -> (client: Client, isOwn: Bool) {
        if let name, let known = clients[name] { return (known.client, false) }
        let made = try ConfiguredClient(file, registry: registry, serializers: .standard)
        if let name { clients[name] = made }
        return (made.client, name == nil)
    }

    func shutdown() async {
        for client in clients.values { await client.client.shutdown() }
        clients = [:]
    }
}
