import Foundation
import Turnpike

/// The clients of `exec`: one for each name, made by the first line that names it.
final class ExecClients {
    private var clients: [String: ConfiguredClient] = [:]
    private let base: StackFile?

    init(base: StackFile?) { self.base = base }

    /// The client for a line, and whether it is the line's own.
    func client(named name: String?, _ parts: JSONObject) throws -> (client: Client, isOwn: Bool) {
        if let name, let known = clients[name] { return (known.client, false) }
        let file = try StackFile(.object(parts), over: base)
        let made = try ConfiguredClient(file, registry: .commandLine, serializers: .standard)
        if let name { clients[name] = made }
        return (made.client, name == nil)
    }

    func shutdown() async {
        for client in clients.values { await client.client.shutdown() }
        clients = [:]
    }
}
