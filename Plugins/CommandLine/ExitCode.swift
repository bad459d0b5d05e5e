import Turnpike

/// What the process says of its end.
package enum ExitCode {
    /// An answer came and was accepted.
    package static let success: Int32 = 0
    /// The request failed on its way for a reason that no other number names.
    package static let failure: Int32 = 1
    /// The command line, the request or a stack file is wrong.
    package static let usage: Int32 = 2
    /// No connection: name, network, TLS.
    package static let connection: Int32 = 3
    /// Out of time.
    package static let timeout: Int32 = 4
    /// The answer was refused, by its status or type.
    package static let refused: Int32 = 5
    /// The answer broke off, or is no HTTP, or is too large.
    package static let broken: Int32 = 6
    /// A file could not be read or written.
    package static let file: Int32 = 7
    /// Ended by Ctrl-C: 128 and the number of the signal.
    package static let interrupted: Int32 = 130

    /// The number for an error.
    package static func of(_ error: any Error) -> Int32 {
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
