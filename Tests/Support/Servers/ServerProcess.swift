// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// A server as a child process, which ends with this process, whatever that dies of.
package final class ServerProcess: Sendable {
    /// The process ID of the server.
    package let id: Int32
    private let input = Pipe()
    private let output = Pipe()
    private let hasEnded = Mutex(false)

    // The shell kills the server when its own input ends. A child inherits the blocked signals of the
    // thread that starts it; `wait` of bash needs none of them, unlike that of other shells.
    private static let keeper =
        #""$@" >>"$0" 2>&1 & id=$!; echo $id; read -r _; kill -KILL $id; wait $id"#

    /// Starts a server.
    /// - Parameters:
    ///   - command: The program and its arguments.
    ///   - log: The path of the file that takes what it prints.
    /// - Throws: ``ServerFault`` if it cannot be started.
    package init(_ command: [String], log: String) throws {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["bash", "-c", Self.keeper, log] + command
        process.standardInput = input
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        var line = Data()
        while let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty,
            byte != Data("\n".utf8)
        {
            line += byte
        }
        guard let id = Int32(String(decoding: line, as: UTF8.self)) else {
            throw ServerFault("\(command[0]) could not be started")
        }
        self.id = id
    }

    deinit { end() }

    /// Sends the server a signal.
    package func signal(_ signal: Int32) {
        hasEnded.withLock { hasEnded in
            if !hasEnded { kill(id, signal) }
        }
    }

    /// Ends the server at once, as `kill -9` does, and returns when it has ended.
    package func end() {
        hasEnded.withLock { hasEnded in
            if hasEnded { return }
            hasEnded = true
            try? input.fileHandleForWriting.close()
            _ = try? output.fileHandleForReading.readToEnd()
        }
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
