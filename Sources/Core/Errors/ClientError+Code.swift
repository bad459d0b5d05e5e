extension ClientError {
    /// What went wrong, as a word that is stable and fit for a metrics label (`error.type`).
    ///
    /// Codes compare with `==` and match in a `catch`: `catch ClientError.Code.tls`. The set is
    /// open: a plugin may add its own.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The code's name.
        public let rawValue: String

        /// Creates a code of that name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The code's name.
        public var description: String { rawValue }

        /// Whether an error is a ``ClientError`` with that code.
        public static func ~= (code: Self, error: any Error) -> Bool {
            (error as? ClientError)?.code == code
        }

        /// The request is not valid HTTP; nothing was sent.
        public static let invalidRequest = Self(rawValue: "invalidRequest")
        /// A stack file or a setting is wrong; nothing was sent.
        public static let configuration = Self(rawValue: "configuration")
        /// The transport, or this library, cannot do what was asked.
        public static let unsupported = Self(rawValue: "unsupported")
        /// The call was cancelled by something other than its caller's task.
        public static let cancelled = Self(rawValue: "cancelled")
        /// The call's deadline passed.
        public static let deadlineExceeded = Self(rawValue: "deadlineExceeded")
        /// One attempt took longer than its limit.
        public static let attemptTimeout = Self(rawValue: "attemptTimeout")
        /// No byte of the body came for too long.
        public static let idleTimeout = Self(rawValue: "idleTimeout")
        /// No connection was made in time.
        public static let connectTimeout = Self(rawValue: "connectTimeout")
        /// The host's name could not be resolved.
        public static let dns = Self(rawValue: "dns")
        /// The connection was refused, reset or lost.
        public static let connection = Self(rawValue: "connection")
        /// The TLS handshake or the certificate failed.
        public static let tls = Self(rawValue: "tls")
        /// The peer broke HTTP.
        public static let `protocol` = Self(rawValue: "protocol")
        /// The body ended early.
        public static let incomplete = Self(rawValue: "incomplete")
        /// A redirect could not or must not be followed.
        public static let redirect = Self(rawValue: "redirect")
        /// A policy forbids the URL.
        public static let urlPolicy = Self(rawValue: "urlPolicy")
        /// A validator refused the response.
        public static let validation = Self(rawValue: "validation")
        /// A credential was refused or could not be had.
        public static let auth = Self(rawValue: "auth")
        /// A circuit breaker is open.
        public static let circuitOpen = Self(rawValue: "circuitOpen")
        /// A rate limit has no room.
        public static let rateLimited = Self(rawValue: "rateLimited")
        /// A concurrency limit has no room.
        public static let overloaded = Self(rawValue: "overloaded")
        /// The retry budget is spent.
        public static let retryBudget = Self(rawValue: "retryBudget")
        /// One call was about to be sent too often.
        public static let sendLimit = Self(rawValue: "sendLimit")
        /// The body cannot be sent a second time.
        public static let bodyNotReplayable = Self(rawValue: "bodyNotReplayable")
        /// A limit on size was passed.
        public static let tooLarge = Self(rawValue: "tooLarge")
        /// A content coding is corrupt.
        public static let decompression = Self(rawValue: "decompression")
        /// Bytes could not be turned into a value, or a value into bytes.
        public static let serialization = Self(rawValue: "serialization")
        /// A file could not be written.
        public static let download = Self(rawValue: "download")
        /// A request body could not be read.
        public static let upload = Self(rawValue: "upload")
    }
}
