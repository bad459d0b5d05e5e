// SPDX-License-Identifier: Apache-2.0

import Turnpike

/// The exit statuses of the command.
enum ExitCode {
    /// A response arrived and was accepted.
    static let success: Int32 = 0
    /// The request failed for a reason without its own status.
    static let failure: Int32 = 1
    /// The command line, the request or a stack file is wrong.
    static let usage: Int32 = 2
    /// No connection: name resolution, network or TLS.
    static let connection: Int32 = 3
    /// A time limit was reached.
    static let timeout: Int32 = 4
    /// The response was rejected because of its status or type.
    static let refused: Int32 = 5
    /// The response was incomplete, malformed or too large.
    static let broken: Int32 = 6
    /// A file could not be read or written.
    static let file: Int32 = 7
    /// Interrupted by Ctrl-C: 128 plus the signal number.
    static let interrupted: Int32 = 130

    /// Returns the exit status for an error.
    static func of(_ error: any Error) -> Int32 {
        if error is CancellationError { return interrupted }
        if error is OutputError { return file }
        switch (error as? ClientError)?.code {
        case .invalidRequest, .configuration, .unsupported: return usage
        case .connection, .dns, .tls: return connection
        case .deadlineExceeded, .attemptTimeout, .idleTimeout, .connectTimeout: return timeout
        case .validation, .auth, .redirect, .urlPolicy: return refused
        case .protocol, .incomplete, .tooLarge, .decompression, .serialization: return broken
        case .download, .upload: return file
        default: return failure
        }
    }
}
