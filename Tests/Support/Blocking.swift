// SPDX-License-Identifier: Apache-2.0

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
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [command] + arguments
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil else { return nil }
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    return process.terminationStatus == 0 ? data : nil
}
