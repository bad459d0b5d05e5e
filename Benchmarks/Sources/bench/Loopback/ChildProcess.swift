// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A process of this program with other arguments.
final class ChildProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    init(_ arguments: [String]) throws {
        process.executableURL = Bundle.main.executableURL
        process.arguments = arguments
        // When this process ends, for whatever reason, this pipe ends too, and with it a child that
        // waits for it.
        process.standardInput = input
        process.standardOutput = output
        try process.run()
    }

    /// Writes a line to the input of the process.
    func send(_ line: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data((line + "\n").utf8))
    }

    /// The next line that the process prints, or nil at the end.
    func readLine() throws -> String? {
        var line = Data()
        while let byte = try output.fileHandleForReading.read(upToCount: 1), !byte.isEmpty {
            if byte[0] == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
            line += byte
        }
        return nil
    }

    func end() {
        // A process started from a dispatch thread inherits its blocked signals; this signal cannot
        // be blocked.
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }
}
