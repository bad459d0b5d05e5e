// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// Limits how many bytes of a response the client stores or reads.
///
/// The limits apply after decoding. Place this gate inside the gates that follow redirects or drain
/// responses, because the limits must apply to all responses. If a response exceeds a limit, the
/// call fails with ``/TurnpikeCore/ClientError/Code/tooLarge``. ``TurnpikeCore/Call/limits(_:)``
/// sets other limits for one call.
public struct Limits: PhasedInterceptor {
    private let bounds: Bounds

    /// The limits on a response.
    public struct Bounds: Sendable, Hashable {
        /// The maximum number of bytes of content, including streams and downloads.
        ///
        /// If nil, the limit is 100 MiB for content that is collected in memory, and other content
        /// has no limit.
        public var body: Int?
        /// The maximum number of bytes of the header section.
        public var headers: Int
        /// The maximum number of lines of the header section.
        public var headerCount: Int
        /// The maximum factor by which decoding may enlarge the content.
        ///
        /// Decoded content of 1 MiB is always allowed. If the transport counts the encoded bytes
        /// (libcurl), the factor applies to the bytes received so far. If the transport does not
        /// count the encoded bytes (URLSession), the factor applies to the whole content, if the
        /// server declares the size. The factor does not apply to event streams, because a
        /// repetitive stream may have a high factor over days. The limit ``line`` applies to each
        /// event.
        public var ratio: Int
        /// The maximum number of content codings that are applied one after another.
        ///
        /// No server needs more than two codings, and each coding multiplies the possible size of a
        /// small response. The limit applies to the codings that remain in the head after the
        /// transport has decoded the content. The transport limits the codings that the transport
        /// itself decodes (libcurl: five).
        public var codings: Int
        /// The maximum number of bytes of one line, item or event of a stream.
        public var line: Int

        /// Creates limits.
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

    /// Creates a gate that limits the size of responses.
    public init(_ bounds: Bounds = Bounds()) { self.bounds = bounds }

    /// The request option that sets the limits of one call.
    public var handledOptions: [any RequestOptionKey.Type] { [LimitsOption.self] }

    /// States the limits on content.
    public func facts(for request: Request?) -> GateFacts? {
        let bounds = request?.options[LimitsOption.self] ?? bounds
        let body = Int64(bounds.body ?? 104_857_600)
        return GateFacts(
            "limits content to \(ByteCount.text(body))"
                + (bounds.body == nil ? " in memory" : "")
                + ", and decoding to \(bounds.ratio) times the size",
            .limitsContent(body), .limitsDecoding(ratio: bounds.ratio))
    }

    /// Sets the limit for content that the call collects in memory.
    public func before(_ request: Request, context: Context, next: Next) throws -> Context {
        let bounds = bounds(for: request)
        if let body = bounds.body { context.maxBytes = body }
        if bounds.line != Self.standardLine { context.maxLineBytes = bounds.line }
        return context
    }

    /// Checks the head, and later each chunk of the body.
    public func after(_ response: Response, to request: Request, context: Context) throws -> Bool {
        let bounds = bounds(for: request)
        if let fault = Self.fault(response, bounds) {
            response.body.cancel(.drop)
            throw fault
        }
        watch(response.body, bounds, isStreaming: request.options.isStreaming)
        return true
    }

    private static let standardLine = Bounds().line

    private func bounds(for request: Request) -> Bounds {
        request.options[LimitsOption.self] ?? bounds
    }

    private static func fault(_ response: Response, _ bounds: Bounds) -> ClientError? {
        let headers = response.headers
        if headers.count > bounds.headerCount {
            return tooLarge(
                "the response has \(headers.count) header lines, more than \(bounds.headerCount)",
                response.head)
        }
        if headers.byteCount > bounds.headers {
            return tooLarge(
                "the response's header section has \(headers.byteCount) bytes, more than"
                    + " \(bounds.headers)", response.head)
        }
        if headers.contains(.contentEncoding),
            headers.values(of: .contentEncoding).reduce(0, { $0 + codings(in: $1) })
                > bounds.codings
        {
            return tooLarge(
                "the content has more than \(bounds.codings) codings", response.head)
        }
        if let limit = bounds.body, let length = response.body.length, length > limit {
            return tooLarge(
                "the response announces \(length) bytes of content, more than \(limit)",
                response.head)
        }
        return nil
    }

    private static func codings(in value: String) -> Int {
        value.utf8.split(separator: UInt8(ascii: ",")).count
    }

    private func watch(_ body: ResponseBody, _ bounds: Bounds, isStreaming: Bool) {
        if body.isEmpty { return }
        let limit = bounds.body.map { Int64($0) } ?? .max
        if body.encodedBytes != nil, !isStreaming {
            let counter = ByteCounter()
            // The handler must not retain the body, because the body retains the handler.
            let canceller = body.canceller
            body.onChunk { chunk in
                let decoded = Self.decoded(canceller.encodedBytes ?? .max, bounds)
                try Self.check(counter.add(chunk.count), min(limit, decoded))
            }
            return
        }
        let isDecoded = body.encodedLength != nil && body.length != body.encodedLength
        let decoded = isDecoded ? Self.decoded(body.encodedLength ?? .max, bounds) : .max
        let bound = min(limit, decoded)
        if bound == .max { return }
        let counter = ByteCounter()
        body.onChunk { try Self.check(counter.add($0.count), bound) }
    }

    // Returns the largest decoded size for a number of encoded bytes.
    private static func decoded(_ encoded: Int64, _ bounds: Bounds) -> Int64 {
        let (product, overflows) = encoded.multipliedReportingOverflow(by: Int64(bounds.ratio))
        return overflows ? .max : max(product, 1_048_576)
    }

    private static func check(_ count: Int64, _ bound: Int64) throws {
        if count > bound { throw tooLarge("the content is larger than \(bound) bytes") }
    }

    // If the error ends the body, the body adds the head to the error.
    private static func tooLarge(_ message: String, _ head: ResponseHead? = nil) -> ClientError {
        ClientError(
            .tooLarge, message + "; raise the limit if this is expected", response: head,
            transfer: TransferState(.receiving))
    }
}

private final class ByteCounter: Sendable {
    private let count = Atomic<Int64>(0)

    func add(_ bytes: Int) -> Int64 { count.add(Int64(bytes), ordering: .relaxed).newValue }
}

enum LimitsOption: RequestOptionKey {
    static func gate(for value: Limits.Bounds) -> (any Gate)? { Limits(value) }
}

extension Limits: PromptlyCancellable {}

extension Gate where Self == Limits {
    /// Limits the size of responses; see ``Limits/Bounds``.
    public static func limits(_ bounds: Limits.Bounds = .init()) -> Self { Limits(bounds) }
}

extension Call {
    /// Sets limits for the response of this call, in place of the client's limits.
    public func limits(_ bounds: Limits.Bounds) -> Call { option(LimitsOption.self, bounds) }
}
