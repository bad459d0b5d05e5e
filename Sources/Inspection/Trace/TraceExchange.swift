// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// The request and the response of one exchange, with secrets redacted.
///
/// Very long header values are cut, because the size of a trace is bounded. Content is never
/// recorded, only its size.
public struct TraceExchange: Sendable, Hashable {
    /// The method.
    public let method: HTTPMethod
    /// The URL, redacted.
    public let url: String
    /// The header fields of the request as it was passed to the transport, redacted.
    public let requestHeaders: HTTPHeaders
    /// The size of the request's content in bytes, if known.
    public let requestBodyBytes: Int64?
    /// The status of the response; nil until its head has come.
    public let status: HTTPStatus?
    /// The header fields of the response, redacted.
    public let responseHeaders: HTTPHeaders?
    /// The protocol version, such as `1.1` or `2`, if the transport knows it.
    public let protocolVersion: String?
    /// The address of the peer, if the transport has reported it.
    public let peerAddress: String?
    /// Whether the connection has served an earlier exchange; nil if unknown.
    public let isConnectionReused: Bool?
    /// The bytes of the request's content that the transport has reported as sent.
    public let bytesSent: Int64
    /// The bytes of the response's content that were read, after decoding by the transport.
    public let bytesReceived: Int64
    /// The size of the response's content before decoding, if known.
    public let encodedBodyBytes: Int64?
    /// The reads of the response's content, or of an upgraded connection's messages, in order and
    /// without overlap.
    public let chunks: [TraceChunks]

    init(
        method: HTTPMethod, url: String, requestHeaders: HTTPHeaders = [:],
        requestBodyBytes: Int64? = nil, status: HTTPStatus? = nil,
        responseHeaders: HTTPHeaders? = nil, protocolVersion: String? = nil,
        peerAddress: String? = nil, isConnectionReused: Bool? = nil, bytesSent: Int64 = 0,
        bytesReceived: Int64 = 0, encodedBodyBytes: Int64? = nil, chunks: [TraceChunks] = []
    ) {
        self.method = method
        self.url = url
        self.requestHeaders = requestHeaders
        self.requestBodyBytes = requestBodyBytes
        self.status = status
        self.responseHeaders = responseHeaders
        self.protocolVersion = protocolVersion
        self.peerAddress = peerAddress
        self.isConnectionReused = isConnectionReused
        self.bytesSent = bytesSent
        self.bytesReceived = bytesReceived
        self.encodedBodyBytes = encodedBodyBytes
        self.chunks = chunks
    }
}

/// Chunks of a response's content that were read one after another.
///
/// An exchange has a bounded number of chunks. If there are too many, the oldest chunks are merged.
public struct TraceChunks: Sendable, Hashable {
    /// The time from the beginning of the call to the first of the chunks.
    public var start: Duration { .nanoseconds(startNanoseconds) }
    /// The time from the beginning of the call to the last of the chunks.
    public var end: Duration { .nanoseconds(endNanoseconds) }
    /// The number of bytes.
    public let bytes: Int64
    /// The number of chunks.
    public let count: Int

    private let startNanoseconds: Int64
    private let endNanoseconds: Int64

    init(start: Duration, end: Duration, bytes: Int64, count: Int) {
        startNanoseconds = start.wholeNanoseconds
        endNanoseconds = end.wholeNanoseconds
        self.bytes = bytes
        self.count = count
    }
}
