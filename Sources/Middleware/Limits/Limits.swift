import Synchronization
public import TurnpikeCore

/// Bounds what a server can make the client hold or read.
///
/// The limits hold after decoding, while a response is given up and while redirects are followed,
/// if the gate stands inside those. They fail as ``/TurnpikeCore/ClientError/Code/tooLarge``.
/// ``TurnpikeCore/Call/limits(_:)`` sets others for one call.
public struct Limits: Interceptor {
    private let settings: Settings

    /// The bounds.
    public struct Settings: Sendable, Hashable {
        /// The bytes of content, streams and downloads included.
        ///
        /// Without it only what is collected in memory is bounded, at 100 MiB.
        public var body: Int?
        /// The bytes of the header section.
        public var headers: Int
        /// The lines of the header section.
        public var headerCount: Int
        /// How many times larger content may become by decoding, beyond its first MiB.
        ///
        /// It holds at each moment for what has come so far, where the transport counts bytes before
        /// it decodes them (libcurl); else for the whole, where its size is declared (URLSession).
        /// Not so for event streams: those that repeat themselves for days are no bombs, and
        /// ``line`` bounds each event.
        public var ratio: Int
        /// How many content codings may lie on each other: two, for no server needs more and each
        /// multiplies what a small response can become.
        ///
        /// It holds for those that the transport leaves in the head; what it decodes by itself it
        /// bounds by itself (libcurl at five).
        public var codings: Int
        /// The bytes of one line, item or event of a stream.
        public var line: Int

        /// Creates bounds.
        public init(
            body: Int? = nil, headers: Int = 262_144, headerCount: Int = 1000, ratio: Int = 100,
            codings: Int = 2, line: Int = 1_048_576
        ) {
            self.body = body
            self.headers = headers
            self.headerCount = headerCount
            self.ratio = ratio
            self.codings = codings
            self.line = line
        }
    }

    /// Creates a gate that bounds responses.
    public init(_ settings: Settings = Settings()) { self.settings = settings }

    /// The bounds of one call.
    public var handledOptions: [any RequestOptionKey.Type] { [LimitsOption.self] }

    /// Checks the head, and the body as it is read.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        let settings = request.options[LimitsOption.self] ?? settings
        if let body = settings.body { context[CollectLimit.self] = body }
        if settings.line != LineLimit.defaultValue { context[LineLimit.self] = settings.line }
        let response = try await next(request)
        if let fault = Self.fault(response, settings) {
            response.body.cancel(.drop)
            throw fault
        }
        watch(response.body, settings, isStreaming: request.options.isStreaming)
        return response
    }

    private static func fault(_ response: Response, _ settings: Settings) -> ClientError? {
        let headers = response.headers
        if headers.count > settings.headerCount {
            return tooLarge("the response has more than \(settings.headerCount) header lines")
        }
        if headers.byteCount > settings.headers {
            return tooLarge(
                "the response's header section is larger than \(settings.headers) bytes")
        }
        if headers.contains(.contentEncoding),
            headers.values(of: .contentEncoding).reduce(0, { $0 + codings(in: $1) })
                > settings.codings
        {
            return tooLarge("the content lies in more than \(settings.codings) codings")
        }
        if let limit = settings.body, let length = response.body.length, length > limit {
            return tooLarge("the response announces more than \(limit) bytes of content")
        }
        return nil
    }

    private static func codings(in value: String) -> Int {
        value.utf8.split(separator: UInt8(ascii: ",")).count
    }

    private func watch(_ body: ResponseBody, _ settings: Settings, isStreaming: Bool) {
        if body.isEmpty { return }
        let limit = settings.body.map { Int64($0) } ?? .max
        let counter = ByteCounter()
        if body.encodedBytes != nil, !isStreaming {
            // The body's handler must not keep the body.
            let canceller = body.canceller
            body.onChunk { chunk in
                let decoded = Self.decoded(canceller.encodedBytes ?? .max, settings)
                try Self.check(counter.add(chunk.count), min(limit, decoded))
            }
            return
        }
        let isDecoded = body.encodedLength != nil && body.length != body.encodedLength
        let decoded = isDecoded ? Self.decoded(body.encodedLength ?? .max, settings) : .max
        let bound = min(limit, decoded)
        if bound == .max { return }
        body.onChunk { try Self.check(counter.add($0.count), bound) }
    }

    // How large so many bytes may become.
    private static func decoded(_ encoded: Int64, _ settings: Settings) -> Int64 {
        let (product, overflows) = encoded.multipliedReportingOverflow(by: Int64(settings.ratio))
        return overflows ? .max : max(product, 1_048_576)
    }

    private static func check(_ count: Int64, _ bound: Int64) throws {
        if count > bound { throw tooLarge("the content is larger than \(bound) bytes") }
    }

    private static func tooLarge(_ message: String) -> ClientError {
        ClientError(
            .tooLarge, message + "; raise the limit if that is right",
            transfer: TransferState(.receiving))
    }
}

private final class ByteCounter: Sendable {
    private let count = Atomic<Int64>(0)

    /// The sum with some more bytes.
    func add(_ bytes: Int) -> Int64 { count.add(Int64(bytes), ordering: .relaxed).newValue }
}

/// The bounds of one call.
public enum LimitsOption: RequestOptionKey {
    /// A ``Limits``.
    public static func gate(for value: Limits.Settings) -> (any Gate)? { Limits(value) }
}

extension Limits: Heeding {}

extension Gate where Self == Limits {
    /// Bounds responses; see ``Limits/Settings``.
    public static func limits(_ settings: Limits.Settings = .init()) -> Self { Limits(settings) }
}

extension Call {
    /// Bounds this call's response, whatever the client's limits are.
    public func limits(_ settings: Limits.Settings) -> Call { option(LimitsOption.self, settings) }
}
