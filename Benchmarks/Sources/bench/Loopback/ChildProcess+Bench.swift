// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation

extension ChildProcess {
    /// Starts this program again with other arguments.
    static func again(_ arguments: [String]) throws -> ChildProcess {
        guard let program = Bundle.main.executablePath else { throw BenchError("no executable") }
        // When this process ends for any reason, the input pipe ends. The end of the pipe ends a
        // child that reads from it.
        return try ChildProcess(program, arguments, input: .pipe, output: .pipe)
    }

    /// Writes a line to the input of the process.
    func send(_ line: String) throws { try input.write(contentsOf: Data((line + "\n").utf8)) }
}
