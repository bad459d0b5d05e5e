// SPDX-License-Identifier: Apache-2.0

extension ClientError {
    /// The kind of failure, with a stable name for metrics labels (`error.type`).
    ///
    /// Codes can be compared with `==` and matched in a `catch`: `catch ClientError.Code.tls`.
    /// Plugins may add their own codes.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let rawValue: String

        /// Creates a code with a name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The name of the code.
        public var description: String { rawValue }

        /// Whether an error is a ``ClientError`` with this code.
        public static func ~= (code: Self, error: any Error) -> Bool {
            (error as? ClientError)?.code == code
        }

        /// The request is not valid HTTP; nothing was sent.
        public static let invalidRequest = Self(rawValue: "invalidRequest")
        /// A stack file or a setting is wrong; nothing was sent.
        public static let configuration = Self(rawValue: "configuration")
        /// The transport or this library does not support the request.
        public static let unsupported = Self(rawValue: "unsupported")
        /// The client or its transport was shut down before the call.
        ///
        /// Another client may have shut down the transport. A call that the caller cancels ends
        /// with `CancellationError` instead. This code also ends the calls that
        /// ``Client/shutdown(grace:cancellingWith:)`` cancels, unless the caller sets another
        /// error.
        public static let cancelled = Self(rawValue: "cancelled")
        /// The deadline of the call ended.
        public static let deadlineExceeded = Self(rawValue: "deadlineExceeded")
        /// One attempt exceeded the time limit.
        public static let attemptTimeout = Self(rawValue: "attemptTimeout")
        /// The body was idle for too long.
        public static let idleTimeout = Self(rawValue: "idleTimeout")
        /// No connection was established in time.
        public static let connectTimeout = Self(rawValue: "connectTimeout")
        /// The host name could not be resolved.
        public static let dns = Self(rawValue: "dns")
        /// The connection was refused, reset or lost.
        public static let connection = Self(rawValue: "connection")
        /// The TLS handshake or the certificate failed.
        public static let tls = Self(rawValue: "tls")
        /// The peer violated the protocol.
        public static let `protocol` = Self(rawValue: "protocol")
        /// The body ended too early.
        public static let incomplete = Self(rawValue: "incomplete")
        /// A redirect could not be followed or is not allowed.
        public static let redirect = Self(rawValue: "redirect")
        /// A policy does not allow the URL.
        public static let urlPolicy = Self(rawValue: "urlPolicy")
        /// A validator rejected the response.
        public static let validation = Self(rawValue: "validation")
        /// A credential was rejected or could not be obtained.
        public static let auth = Self(rawValue: "auth")
        /// A circuit breaker is open.
        public static let circuitOpen = Self(rawValue: "circuitOpen")
        /// A rate limit was reached.
        public static let rateLimited = Self(rawValue: "rateLimited")
        /// A concurrency limit was reached, and the queue of waiting calls was full.
        public static let overloaded = Self(rawValue: "overloaded")
        /// The retry budget is exhausted.
        public static let retryBudget = Self(rawValue: "retryBudget")
        /// A call reached the maximum number of sends.
        public static let sendLimit = Self(rawValue: "sendLimit")
        /// The body cannot be sent again.
        public static let bodyNotReplayable = Self(rawValue: "bodyNotReplayable")
        /// A size limit was exceeded.
        public static let tooLarge = Self(rawValue: "tooLarge")
        /// Encoded content is corrupt.
        public static let decompression = Self(rawValue: "decompression")
        /// Bytes could not be converted into a value, or a value into bytes.
        public static let serialization = Self(rawValue: "serialization")
        /// A file could not be written.
        public static let download = Self(rawValue: "download")
        /// A request body could not be read.
        public static let upload = Self(rawValue: "upload")
    }
}

extension ClientError {
    /// Whether the error may be transient: the network failed or was too slow.
    public var isPassing: Bool {
        if let proxyStatus { return Self.passingStatuses.contains(proxyStatus) }
        return Self.passingCodes.contains(code)
    }

    private static let passingCodes: Set<Code> = [
        .connection, .incomplete, .dns, .connectTimeout, .attemptTimeout, .idleTimeout,
    ]
    private static let passingStatuses: Set<HTTPStatus> = [408, 425, 429, 500, 502, 503, 504]
}

extension ClientError {
    /// Whether an error is a cancellation and not a failure: a `CancellationError`, or an error
    /// with the code ``Code/cancelled``, which ``Client/shutdown(grace:cancellingWith:)`` may use.
    public static func isCancellation(_ error: any Error) -> Bool {
        error is CancellationError || (error as? ClientError)?.code == .cancelled
    }

    /// The label of an error for logs and metrics: the code, or the name of the type.
    public static func label(of error: any Error) -> String {
        switch error {
        case let error as ClientError: error.code.rawValue
        case is CancellationError: "cancelled"
        default: String(describing: type(of: error))
        }
    }
}
