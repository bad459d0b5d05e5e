// SPDX-License-Identifier: Apache-2.0

import Foundation

/// This program once more, as a process that downloads.
struct ResumeChild {
    private let process = Process()
    private let errors = Pipe()
    private let ends: AsyncStream<Void>

    init(_ url: String, _ file: URL) throws {
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        self.ends = ends
        process.executableURL = Bundle.main.executableURL
        process.arguments = ["--download", url, file.path()]
        process.environment = ProcessInfo.processInfo.environment
            .merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
        process.standardError = errors
        process.terminationHandler = { _ in end.finish() }
        try process.run()
    }

    var isRunning: Bool { process.isRunning }

    // What a dispatch thread starts inherits its blocked signals; this one cannot be blocked.
    func kill() { if process.isRunning { _ = Foundation.kill(process.processIdentifier, SIGKILL) } }

    /// Waits for its end.
    /// - Returns: Whether it was killed.
    /// - Throws: A ``ResumeFailure`` with what it said, where it failed.
    func end() async throws -> Bool {
        for await _ in ends {}
        if process.terminationReason == .uncaughtSignal, process.terminationStatus == SIGKILL {
            return true
        }
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            let said = String(decoding: errors.fileHandleForReading.availableData, as: UTF8.self)
            throw ResumeFailure("a process ended with \(process.terminationStatus): \(said)")
        }
        return false
    }
}
