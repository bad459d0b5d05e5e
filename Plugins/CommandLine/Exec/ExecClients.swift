// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeInspection
import TurnpikeStackFiles

/// The clients of `exec`; the first line with a new name creates a client for the name.
final class ExecClients {
    /// The maximum number of named clients; each uses about 118 KB, 5 descriptors and a thread.
    static let maxNamed = 100

    private var clients: [String: ConfiguredClient] = [:]
    private let base: StackFile?
    // All clients share the registry, because some objects must exist once for a path, such as the
    // writer of a metrics file.
    private let registry: Registry
    private let traces: TraceStore?

    init(base: StackFile?, registry: Registry, traces: TraceStore? = nil) {
        self.base = base
        self.registry = registry
        self.traces = traces
    }

    enum Source {
        /// An earlier line created the client; this line's settings for the client are ignored.
        case made(Client)
        /// The client settings of the line override those of the command's stack file.
        case file(StackFile)
    }

    func source(for name: String?, _ parts: JSONObject) throws -> Source {
        if let name, let known = clients[name] { return .made(known.client) }
        return .file(try StackFile(.object(parts), over: base))
    }

    func check(_ source: Source) -> [ConfigurationIssue] {
        guard case .file(let file) = source else { return [] }
        return file.check(with: registry)
    }

    /// Returns the client for a line; a line without a client name gets a new client.
    func client(named name: String?, from source: Source) throws -> Client {
        switch source {
        case .made(let client): return client
        case .file(let file):
            if let name, clients.count >= Self.maxNamed { throw Self.tooMany(name) }
            let made = try ConfiguredClient(
                file, registry: registry, serializers: .standard, trace: traces)
            if let name { clients[name] = made }
            return made.client
        }
    }

    // No client is shut down to make space for another client, because cookies, connections and
    // counts would be lost without a notice.
    private static func tooMany(_ name: String) -> ClientError {
        ClientError(
            .configuration,
            "client: \(JSONValue.string(name)) is a new name, but \(maxNamed) names are in use;"
                + " each client keeps its connections and a thread until the input ends; use a"
                + " name again, leave the name out (the line then has its own client), or run"
                + " another turnpike exec")
    }

    /// Shuts down all clients in parallel, because one client may wait for a token refresh.
    func shutdown() async {
        await withTaskGroup { group in
            for client in clients.values.map(\.client) {
                group.addTask { await client.shutdown() }
            }
        }
        clients = [:]
    }
}
