// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// The request and the response of one exchange, without secrets.
///
/// Very long header values are shortened, because the size of a trace is bounded. An exchange
/// contains the size of the content, but never the content.
public struct TraceExchange: Sendable, Hashable {
    /// The method.
    public let method: HTTPMethod
    /// The URL without secrets.
    public let url: String
    /// The header fields of the request as the transport got it, without secrets.
    public let requestHeaders: HTTPHeaders
    /// The number of bytes of the request content, or nil if unknown.
    public let requestBodyBytes: Int64?
    /// The status of the response, or nil before the response head arrives.
    public let status: HTTPStatus?
    /// The header fields of the response, without secrets.
    public let responseHeaders: HTTPHeaders?
    /// The protocol version, such as `1.1` or `2`, or nil if unknown.
    public let protocolVersion: String?
    /// The address of the peer, if the transport has reported the address.
    public let peerAddress: String?
    /// Whether the connection has served an earlier exchange; nil if unknown.
    public let isConnectionReused: Bool?
    /// The number of bytes of the request content that the transport has reported as sent.
    public let bytesSent: Int64
    /// The number of bytes of the response content that were read, after decoding by the transport.
    public let bytesReceived: Int64
    /// The number of bytes of the response content before decoding, or nil if unknown.
    public let encodedBodyBytes: Int64?
    /// The reads of the response content, or of messages of an upgraded connection, in order and
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

/// Consecutive chunks of response content.
///
/// The number of groups of chunks in an exchange is bounded. If there are too many groups, the
/// oldest groups are merged.
public struct TraceChunks: Sendable, Hashable {
    /// The time from the start of the call to the first chunk.
    public var start: Duration { .nanoseconds(startNanoseconds) }
    /// The time from the start of the call to the last chunk.
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
