import Foundation
import Turnpike

/// The clients of `exec`: one for each name, made by the first line that names it.
final class ExecClients {
    /// The most clients with names: each keeps about 118 KB, 5 descriptors and a thread.
    static let maxNamed = 100

    private var clients: [String: ConfiguredClient] = [:]
    private let base: StackFile?
    // One for all clients: what they share by a path, as a file of metrics, they share whole.
    private let registry = Registry.commandLine

    init(base: StackFile?) { self.base = base }

    /// Where a line's client comes from.
    enum Source {
        /// An earlier line has made it; it is what it is, and the parts of this line are not looked at.
        case made(Client)
        /// The line's parts, over those of the command's file, describe it.
        case file(StackFile)
    }

    /// Where the client of a line comes from.
    func source(for name: String?, _ parts: JSONObject) throws -> Source {
        if let name, let known = clients[name] { return .made(known.client) }
        return .file(try StackFile(.object(parts), over: base))
    }

    /// The mistakes in what describes a client; nothing is made.
    func check(_ source: Source) -> [ConfigurationIssue] {
        guard case .file(let file) = source else { return [] }
        return file.check(with: registry)
    }

    /// The client for a line; without a name it is the line's own.
    /// - Throws: A `ClientError` if the parts describe no client, or if the name is one too many.
    func client(named name: String?, from source: Source) throws -> Client {
        switch source {
        case .made(let client): return client
        case .file(let file):
            if let name, clients.count >= Self.maxNamed { throw Self.tooMany(name) }
            let made = try ConfiguredClient(file, registry: registry, serializers: .standard)
            if let name { clients[name] = made }
            return made.client
        }
    }

    // None is shut down to make room: its cookies, connections and counts would be gone, and the line
    // that names it next could not tell.
    private static func tooMany(_ name: String) -> ClientError {
        ClientError(
            .configuration,
            "client: \(maxNamed) names are in use, and \(JSONValue.string(name)) is one more; each client keeps"
                + " its connections and a thread until the input ends: use one of the names again, leave"
                + " the name out (the line has a client of its own then), or run another exec")
    }

    /// Shuts all of them down, side by side: one may wait for the answer to a token's refresh.
    func shutdown() async {
        await withTaskGroup { group in
            for client in clients.values.map(\.client) {
                group.addTask { await client.shutdown() }
            }
        }
        clients = [:]
    }
}
