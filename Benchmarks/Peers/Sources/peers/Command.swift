// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import Synchronization

/// Runs other programs, and this program in new processes.
enum Command {
    private static let folders =
        (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":").map(String.init)
        + ["/usr/sbin", "/sbin", "/usr/local/sbin"]

    /// The path of a program, or nil if it is not installed.
    static func find(_ name: String) -> String? {
        folders.map { $0 + "/" + name }
            .first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// The path of a required program.
    static func require(_ name: String, package: String) throws -> String {
        guard let path = find(name) else {
            throw PeerError("\(name) is not installed (Debian's package \(package))")
        }
        return path
    }

    /// The path of this program.
    static var own: String {
        get throws {
            guard let path = Bundle.main.executablePath else { throw PeerError("no executable") }
            return path
        }
    }

    /// Runs a program to its end and returns its output.
    /// - Throws: ``PeerError``, with the program's standard error if its exit status is not 0. If
    ///   the program does not end in time, it is killed.
    static func output(
        of path: String, _ arguments: [String], within seconds: Double
    ) throws -> String {
        let log = FileManager.default.temporaryDirectory.path + "/turnpike-peers-log-\(getpid())"
        try Data().write(to: URL(filePath: log))
        defer { try? FileManager.default.removeItem(atPath: log) }
        let process = try ChildProcess(
            path, arguments, output: .pipe,
            errors: .handle(FileHandle(forWritingTo: URL(filePath: log))), limit: .seconds(seconds))
        Cleanup.add(process.id)
        let (end, data, _) = process.finish()
        Cleanup.remove(process.id)
        if end == .killed(signal: SIGKILL) {
            throw PeerError("\(path) was killed, because it took more than \(Int(seconds)) s")
        }
        guard end.status == 0 else {
            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            let reason = text.trimmingCharacters(in: .whitespacesAndNewlines).suffix(500)
            throw PeerError(reason.isEmpty ? "\(path) ended with \(end.status)" : String(reason))
        }
        return String(decoding: data, as: UTF8.self)
    }
}

/// The processes and the folder that must not remain after a signal.
enum Cleanup {
    private static let state = Mutex((ids: Set<pid_t>(), folders: Set<String>()))

    static func add(_ id: pid_t) { state.withLock { _ = $0.ids.insert(id) } }
    static func remove(_ id: pid_t) { state.withLock { _ = $0.ids.remove(id) } }
    static func add(folder: String) { state.withLock { _ = $0.folders.insert(folder) } }
    static func remove(folder: String) { state.withLock { _ = $0.folders.remove(folder) } }

    /// On an interruption of this process, ends the started processes, each by its id.
    ///
    /// Call this before any other thread is started.
    static func onInterruption() {
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        Thread { [signals] in
            var signals = signals
            var number: CInt = 0
            sigwait(&signals, &number)
            state.withLock { state in
                for id in state.ids { kill(id, SIGTERM) }
                Thread.sleep(forTimeInterval: 0.2)
                for id in state.ids { kill(id, SIGKILL) }
                for folder in state.folders { try? FileManager.default.removeItem(atPath: folder) }
            }
            exit(128 + number)
        }.start()
    }
}

struct PeerError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// Prints a message that is not a result.
func note(_ text: String) { FileHandle.standardError.write(Data("peers: \(text)\n".utf8)) }
