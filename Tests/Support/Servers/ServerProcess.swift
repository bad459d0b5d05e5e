// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation

/// A server as a child process, which ends with this process, whatever that dies of.
package final class ServerProcess: Sendable {
    /// The process ID of the server.
    package let id: Int32
    private let keeper: ChildProcess

    // The shell kills the server when its own input ends.
    private static let keeping =
        #""$@" >>"$0" 2>&1 & id=$!; echo $id; read -r _; kill -KILL $id; wait $id"#

    /// Starts a server.
    /// - Parameters:
    ///   - command: The program and its arguments.
    ///   - log: The path of the file that takes what it prints.
    /// - Throws: ``ServerFault`` if it cannot be started.
    package init(_ command: [String], log: String) throws {
        keeper = try ChildProcess(
            "sh", ["-c", Self.keeping, log] + command, input: .pipe, output: .pipe, errors: .null)
        guard let id = keeper.readLine().flatMap({ Int32($0) }) else {
            throw ServerFault("\(command[0]) could not be started")
        }
        self.id = id
    }

    deinit { end() }

    /// Sends the server a signal.
    package func signal(_ signal: Int32) {
        if keeper.isRunning { kill(id, signal) }
    }

    /// Ends the server at once, as `kill -9` does, and returns when it has ended.
    package func end() {
        try? keeper.input.close()
        keeper.wait()
    }

    /// The path of a program in the folders of `PATH`.
    package static func path(of program: String) -> String? {
        if program.contains("/") {
            return FileManager.default.isExecutableFile(atPath: program) ? program : nil
        }
        let folders = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return folders.split(separator: ":").map { "\($0)/\(program)" }
            .first(where: FileManager.default.isExecutableFile)
    }
}
