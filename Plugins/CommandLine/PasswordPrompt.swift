// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Asks a person for a password on the terminal of the process, without showing it.
enum PasswordPrompt {
    /// The error if there is nobody to ask.
    static var noTerminal: ClientError {
        ClientError(
            .configuration,
            "-u: the password is missing, and there is no terminal to ask for it; write"
                + " user:password, or user: for an empty password")
    }

    /// Shows a text and reads a line.
    ///
    /// Standard input and output may be redirected meanwhile. What was typed before is dropped.
    /// - Throws: ``noTerminal``; `CancellationError` if the task is cancelled, with the terminal as
    ///   it was before.
    static func ask(_ prompt: String) async throws -> String {
        let terminal = unsafe open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard terminal >= 0 else { throw noTerminal }
        var before = termios()
        guard unsafe tcgetattr(terminal, &before) == 0 else {
            close(terminal)
            throw noTerminal
        }
        var silent = before
        silent.c_lflag &= ~tcflag_t(ECHO)
        // A process that is suspended or killed here would leave the terminal silent. Ctrl-C
        // cancels the task instead.
        let noKey = UInt8(truncatingIfNeeded: fpathconf(terminal, Int32(_PC_VDISABLE)))
        unsafe withUnsafeMutableBytes(of: &silent.c_cc) { keys in
            for key in [VSUSP, VQUIT] { unsafe keys[Int(key)] = noKey }
        }
        _ = unsafe tcsetattr(terminal, TCSAFLUSH, &silent)
        let line: Data
        do {
            defer {
                _ = unsafe tcsetattr(terminal, TCSANOW, &before)
                // The line end that was typed was not shown either.
                try? Descriptor.put(Data("\n".utf8), to: terminal)
            }
            try Descriptor.put(Data(prompt.utf8), to: terminal)
            // After a cancellation the read goes on until the process ends, so the descriptor
            // stays open.
            line = try await BlockingReads().value { try Descriptor.take(4096, from: terminal) }
        }
        close(terminal)
        guard !line.isEmpty else {
            throw ClientError(.configuration, "-u: the input ended before the password")
        }
        return String(decoding: line.prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
    }
}
