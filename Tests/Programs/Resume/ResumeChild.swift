// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation

/// This program once more, as a process that downloads.
struct ResumeChild {
    private let process: ChildProcess

    init(_ url: String, _ file: URL) throws {
        process = try ChildProcess(
            CommandLine.arguments[0], ["--download", url, file.path()],
            environment: ["SWIFT_BACKTRACE": "enable=no"], errors: .pipe)
    }

    var isRunning: Bool { process.isRunning }

    func kill() { process.kill() }

    /// Waits for its end.
    /// - Returns: Whether it was killed.
    /// - Throws: A ``ResumeFailure`` with what it said, where it failed.
    func end() async throws -> Bool {
        switch await process.finished() {
        case (.killed(signal: SIGKILL), _, _): return true
        case (.exited(0), _, _): return false
        case (let end, _, let said):
            let said = String(decoding: said, as: UTF8.self)
            throw ResumeFailure("a process ended with \(end): \(said)")
        }
    }
}
