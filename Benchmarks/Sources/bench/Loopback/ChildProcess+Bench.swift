// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation

extension ChildProcess {
    /// Starts this program with other arguments.
    static func again(_ arguments: [String]) throws -> ChildProcess {
        guard let program = Bundle.main.executablePath else { throw BenchError("no executable") }
        // When this process ends, for whatever reason, the pipe of the input ends too, and with it a
        // child that waits for it.
        return try ChildProcess(program, arguments, input: .pipe, output: .pipe)
    }

    /// Writes a line to the input of the process.
    func send(_ line: String) throws { try input.write(contentsOf: Data((line + "\n").utf8)) }
}
