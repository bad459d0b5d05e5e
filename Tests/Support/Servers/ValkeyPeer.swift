// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// A Valkey or Redis server on a free port of 127.0.0.1, for tests.
///
/// `TURNPIKE_VALKEY_SERVER` names another program than `redis-server`. The server ends when this
/// object is released, and with this process.
///
/// ```swift
/// @Suite(.needs(ValkeyPeer.need, if: ValkeyPeer.isAvailable))
/// ```
package final class ValkeyPeer: Sendable {
    /// The path of the server's program; nil if it is not installed.
    package static let program = ServerProcess.path(
        of: ProcessInfo.processInfo.environment["TURNPIKE_VALKEY_SERVER"] ?? "redis-server")
    /// Whether a server can be started.
    package static var isAvailable: Bool { program != nil }
    /// What to install where not.
    package static let need =
        "redis-server (the package of that name in Debian), or TURNPIKE_VALKEY_SERVER with the path"
        + " of another such server"

    /// The port of the server.
    package let port: Int
    private let password: String?
    private let options: [String]
    private let folder: TemporaryFolder
    private let process: Mutex<ServerProcess?>

    /// Starts a server that keeps its data in memory only.
    /// - Parameters:
    ///   - password: The password of its default user.
    ///   - options: Options as of its configuration file: `["--maxmemory", "1mb"]`.
    /// - Throws: ``ServerFault`` if it does not start, with what it has logged.
    package init(password: String? = nil, options: [String] = []) throws {
        self.password = password
        folder = TemporaryFolder()
        let options = (password.map { ["--requirepass", $0] } ?? []) + options
        var (port, process) = (0, ServerProcess?.none)
        for attempt in 1...5 {
            port = try LoopbackSocket.freePort()
            do {
                process = try Self.start(port, password, options, folder)
                break
            } catch  where attempt < 5 {
                // Another process took the port.
                continue
            }
        }
        self.port = port
        self.options = options
        self.process = Mutex(process)
    }

    /// The URL for a client.
    package var url: String {
        "redis://" + (password.map { ":\($0)@" } ?? "") + "127.0.0.1:\(port)"
    }
    /// The process ID; 0 if the server does not run.
    package var id: Int32 { process.withLock { $0?.id ?? 0 } }
    /// What the server has logged.
    package var log: String { Self.log(folder) }

    private static func log(_ folder: TemporaryFolder) -> String {
        String(decoding: folder.contents(of: "log") ?? Data(), as: UTF8.self)
    }

    private static func start(
        _ port: Int, _ password: String?, _ options: [String], _ folder: TemporaryFolder
    ) throws -> ServerProcess {
        guard let program else { throw ServerFault(need) }
        let process = try ServerProcess(
            [
                program, "--port", "\(port)", "--bind", "127.0.0.1", "--dir", folder.path,
                "--save", "", "--appendonly", "no", "--daemonize", "no",
            ] + options, log: folder["log"])
        let end = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < end {
            // Another server may have the port: the answer names the process.
            if let connection = try? RawConnection(port: port, password: password),
                let info = try? connection("INFO", "server").text,
                info.contains("process_id:\(process.id)\r\n"), try connection("PING").error == nil
            {
                return process
            }
            if log(folder).contains("Address already in use") { break }
            usleep(5000)
        }
        process.end()
        throw ServerFault("the server does not start: \(log(folder).suffix(2000))")
    }

    // MARK: Its life

    /// Ends the server at once, as `kill -9` does; its data is lost.
    package func kill() { process.withLock(\.self)?.end() }

    /// Ends the server, and starts it again on the same port, with the same options.
    package func restart() throws {
        try process.withLock { process in
            process?.end()
            process = try Self.start(port, password, options, folder)
        }
    }

    /// Stops the server's process (SIGSTOP): it keeps its connections, and answers nothing.
    package func pause() { process.withLock(\.self)?.signal(SIGSTOP) }

    /// Lets a paused server go on (SIGCONT).
    package func resume() { process.withLock(\.self)?.signal(SIGCONT) }

    // MARK: Commands

    /// A new connection to the server.
    package func connection() throws -> RawConnection {
        try RawConnection(port: port, password: password)
    }

    /// Sends a command over a connection of its own.
    @discardableResult
    package func command(_ words: String...) throws -> RawReply { try connection().send(words) }

    /// A field of `INFO`, such as `connected_clients`.
    package func info(_ field: String) throws -> String? {
        try command("INFO", "all").text?.split(separator: "\r\n")
            .first { $0.hasPrefix(field + ":") }.map { String($0.dropFirst(field.count + 1)) }
    }

    /// Waits until a condition on the server holds, and blocks the thread meanwhile.
    package func wait(
        for what: String, limit: Duration = .seconds(60), _ condition: () throws -> Bool
    ) throws {
        let end = ContinuousClock.now + limit
        while try !condition() {
            guard ContinuousClock.now < end else { throw ServerFault("waited in vain for \(what)") }
            usleep(5000)
        }
    }
}
