// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// Endpoints in a JSON file that another program updates, such as a sidecar of Consul.
///
/// The file is an array of endpoints, or an object with the array `endpoints`. Other members of the
/// object are ignored. An endpoint is a text, or an object with details:
///
/// ```json
/// {
///   "endpoints": [
///     "10.0.0.7:8080",
///     "unix:/run/users.sock",
///     {"address": "10.0.0.8", "port": 8080, "weight": 2, "zone": "a"}
///   ]
/// }
/// ```
///
/// | member | meaning |
/// |---|---|
/// | `address` | an IP address or a name; with its port, as in the texts, if there is no `port` |
/// | `port` | from 1 to 65535 |
/// | `weight` | the share of the load, relative to the others: 0.000001 to 1000000, 1 by default |
/// | `zone` | the zone that the endpoint runs in |
/// | `labels` | anything; this member is not read |
///
/// A file has 1 to 100,000 endpoints and at most 16 MiB. If an entry has a mistake or the file is
/// incomplete, the last good list stays in use. The error contains the path of each wrong entry
/// (`endpoints[17].port: found 99999; …`). A repeated entry is dropped.
///
/// The other program should write a new file and rename the new file to the old name. Each check
/// follows links again, because the volumes of Kubernetes change links.
public final class EndpointFile: EndpointResolver {
    private let path: String
    private let interval: Duration
    private let known = Mutex<Known?>(nil)

    private struct Known {
        let version: FileVersion
        // Each version of the file is read twice. A file may change again within one tick of the
        // file system's clock, and a new file may get the inode of a removed file.
        let isSettled: Bool
        let result: Result<[Endpoint], any Error>
    }

    /// Creates a resolver for a file, which need not exist yet.
    /// - Parameters:
    ///   - path: The file.
    ///   - interval: The time between two checks, at least 10 ms. A check costs three system calls
    ///     on a thread for blocking work. If device, inode, size or times change, the file is read.
    public init(_ path: String, interval: Duration = .seconds(1)) {
        self.path = path
        self.interval = max(interval, .milliseconds(10))
    }

    /// The text "one of the endpoints in" with the path of the file.
    public var summary: String { "one of the endpoints in \(path)" }

    /// Checks the file, and reads a changed file.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` while the file is missing or
    ///   unusable.
    public func endpoints(in context: Context) async throws -> EndpointList {
        let endpoints = try await BlockingExecutor.run { try self.look() }
        return EndpointList(endpoints, freshFor: interval)
    }

    // MARK: Reading

    private func look() throws -> [Endpoint] {
        let before = known.withLock { $0 }
        let (version, found) = try content(
            unless: before?.isSettled == true ? before?.version : nil)
        guard let data = found else { return try before?.result.get() ?? [] }
        var result = Result { try parse(data) }
        // An unchanged list keeps its storage. A comparison then takes no time.
        if case .success(let new) = result, case .success(let old)? = before?.result, new == old {
            result = .success(old)
        }
        let isSettled = before?.version == version
        known.withLock { [result] in
            $0 = Known(version: version, isSettled: isSettled, result: result)
        }
        return try result.get()
    }

    // Returns the version, and the content if the version is not known.
    private func content(unless known: FileVersion?) throws -> (FileVersion, Data?) {
        // Without `O_NONBLOCK`, the opening of a pipe would wait for the pipe's other end.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw unusable("\(FileFault("open it"))") }
        let file = UnnamedFile(descriptor: descriptor)
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            throw unusable("\(FileFault("inspect it"))")
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw unusable("expected a regular file") }
        let version = FileVersion(status)
        if version == known { return (version, nil) }
        guard status.st_size <= Self.maxBytes else {
            throw unusable("found \(status.st_size) bytes; expected at most \(Self.maxBytes)")
        }
        // If the file grows during the reading, the next check notices the change.
        guard let data = try? file.read(upToCount: Self.maxBytes, at: 0) else {
            throw unusable("the file could not be read")
        }
        return (version, data)
    }

    private static let maxBytes = 16 << 20

    private func parse(_ data: Data) throws -> [Endpoint] {
        let document: JSONValue
        do throws(JSONSyntaxError) {
            document = try JSONValue(
                parsing: data,
                options: JSONReadingOptions(maxDepth: 8, refusesDuplicateNames: true))
        } catch {
            throw fault("is not JSON, or not complete: \(error)")
        }
        return try EndpointReader.read(document).result(of: source)
    }

    private var source: String { "the file of endpoints \(Grammar.escaped(path, upTo: 200))" }

    private func unusable(_ reason: String) -> ClientError { fault("cannot be used: \(reason)") }

    private func fault(_ reason: String) -> ClientError {
        ClientError(.configuration, "\(source) \(reason)")
    }
}

extension EndpointResolver where Self == EndpointFile {
    /// Endpoints in a JSON file that another program updates; see ``EndpointFile``.
    public static func file(_ path: String, interval: Duration = .seconds(1)) -> Self {
        EndpointFile(path, interval: interval)
    }
}
