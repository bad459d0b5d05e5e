// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import TestSupport
import Testing

@testable import TurnpikeCore

/// The end of a process is seen from outside: so these run in processes of their own.
@Suite("The exit of a process")
struct ExitTests {
    // The lines are more than a pipe holds, and nobody reads before the program is about to end: an
    // exit that does not wait loses most of them.
    @Test(
        "All log lines are written although nobody shut the client down",
        arguments: [("return", 0), ("exit", 3)])
    func allLines(mode: String, status: Int32) async throws {
        let child = try Program("turnpike-exit").start([mode], within: .seconds(60))
        let text = await Blocking.run {
            let said = child.output.reads(until: "leaving\n")
            let lines = child.errors.readDataToEndOfFile()
            return said ? String(decoding: lines, as: UTF8.self) : "it never left"
        }
        #expect(await child.end() == .exited(status))
        let lines = text.split(separator: "\n")
        #expect(lines.count == 2000)
        for (number, line) in lines.enumerated() {
            #expect(line.contains("/number/\(number)/"), "\(line)")
        }
    }

    @Test("A sink that nobody reads does not keep the process from exiting")
    func stuck() async throws {
        let said = try await Program("turnpike-exit").output(["stuck"], within: .seconds(60))
        #expect(said == "leaving\n")
    }
}

extension FileHandle {
    /// Reads until a text has come.
    /// - Returns: Whether it came before the end.
    fileprivate func reads(until text: String) -> Bool {
        var read = Data()
        while true {
            let data = availableData
            if data.isEmpty { return false }
            read += data
            if String(decoding: read, as: UTF8.self).contains(text) { return true }
        }
    }
}
