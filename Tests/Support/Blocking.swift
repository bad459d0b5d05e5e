// SPDX-License-Identifier: Apache-2.0

import ChildProcess
package import Foundation

/// Runs what blocks on a thread of its own: the tests' few threads are needed by all of them.
package enum Blocking {
    package static func run<Value: Sendable>(
        _ body: @escaping @Sendable () -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: body()) }.start()
        }
    }
}

/// Runs a command to its end.
/// - Returns: What it printed, or nil if it failed or is not there.
package func output(of command: String, _ arguments: String...) -> Data? {
    let ended = try? ChildProcess(command, arguments, output: .pipe, errors: .null).finish()
    return ended?.end == .exited(0) ? ended?.output : nil
}
