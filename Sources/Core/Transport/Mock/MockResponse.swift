// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeSupport

/// A response of a ``MockTransport``.
public struct MockResponse: Sendable {
    private enum Content: Sendable {
        case data(Data)
        case chunks([Data], interval: Duration, failure: (any Error)?)
        case failure(any Error)
        case upgrade(String, @Sendable (UpgradedConnection) async -> Void)
    }

    /// The status.
    public var status: HTTPStatus
    /// The header fields.
    public var headers: HTTPHeaders
    private var content: Content
    private var latency: MockLatency?
    private var trailers: HTTPHeaders?

    private init(status: HTTPStatus, headers: HTTPHeaders, content: Content) {
        self.status = status
        self.headers = headers
        self.content = content
    }

    /// A response with a status and bytes.
    public static func status(
        _ status: HTTPStatus, headers: HTTPHeaders = [:], body: Data = Data()
    ) -> Self {
        Self(status: status, headers: headers, content: .data(body))
    }

    /// A response with the status 200 and a text.
    public static func ok(text: String = "", headers: HTTPHeaders = [:]) -> Self {
        var headers = headers
        headers.setIfAbsent(.contentType, "text/plain; charset=utf-8")
        return status(.ok, headers: headers, body: Data(text.utf8))
    }

    /// A response with the status 200 and JSON content.
    public static func ok(json: JSONValue, headers: HTTPHeaders = [:]) -> Self {
        .status(.ok, json: json, headers: headers)
    }

    /// A response with a status and JSON content.
    public static func status(
        _ status: HTTPStatus, json: JSONValue, headers: HTTPHeaders = [:]
    ) -> Self {
        var headers = headers
        headers.setIfAbsent(.contentType, "application/json")
        return .status(status, headers: headers, body: json.data())
    }

    /// A response whose content arrives in chunks, each of which arrives when the caller reads it.
    ///
    /// An unread chunk has not arrived, and the end of a time limit therefore ends an unread body.
    /// - Parameters:
    ///   - chunks: The chunks.
    ///   - status: The status.
    ///   - headers: The header fields.
    ///   - interval: The time before each chunk, on the time source of the client.
    ///   - failure: The error after the last chunk. If nil, the content ends normally.
    /// - Returns: The response.
    public static func stream(
        _ chunks: [Data], status: HTTPStatus = .ok, headers: HTTPHeaders = [:],
        every interval: Duration = .zero, thenThrow failure: (any Error)? = nil
    ) -> Self {
        Self(
            status: status, headers: headers,
            content: .chunks(chunks, interval: interval, failure: failure))
    }

    /// An error that the transport throws instead of a response.
    public static func failure(_ error: any Error) -> Self {
        Self(status: 0, headers: [:], content: .failure(error))
    }

    /// A response with the status 101, and a connection that a closure serves.
    /// - Parameters:
    ///   - name: The protocol to which the connection switches.
    ///   - headers: The other header fields.
    ///   - serve: Acts as the server. When the closure returns, the server's end of the connection
    ///     is closed.
    /// - Returns: The response.
    public static func upgrade(
        to name: String, headers: HTTPHeaders = [:],
        _ serve: @escaping @Sendable (UpgradedConnection) async -> Void
    ) -> Self {
        var headers = headers
        headers[.upgrade] = name
        headers[.connection] = "Upgrade"
        return Self(status: 101, headers: headers, content: .upgrade(name, serve))
    }

    /// Returns the same response with trailer fields (``ResponseBody/trailers``) after the content.
    public func followed(by trailers: HTTPHeaders) -> Self {
        var copy = self
        copy.trailers = trailers
        return copy
    }

    /// Returns the same response after a delay on the time source of the client.
    public func delayed(by delay: Duration) -> Self { delayed(by: .constant(delay)) }

    /// Returns the same response after a delay from the random source of the call.
    public func delayed(by latency: MockLatency) -> Self {
        var copy = self
        copy.latency = latency
        return copy
    }

    /// Returns the response after the delay, for test transports other than ``MockTransport``.
    /// - Throws: The error of ``failure(_:)``, or the error of a cancellation.
    public func response(to request: Request, in context: Context) async throws -> Response {
        if let delay = latency?.draw(from: context.random), delay > .zero {
            try await context.sleep(for: delay)
        }
        let body: ResponseBody
        switch content {
        case .failure(let error): throw error
        case .data(let data):
            if request.method == .head || status.endsWithHead {
                body = .empty
            } else if let trailers {
                body = ResponseBody(data, trailers: trailers)
            } else {
                body = ResponseBody(data)
            }
        case .chunks(let chunks, let interval, let failure):
            body = ResponseBody(
                source: MockBodySource(
                    chunks: chunks, interval: interval, failure: failure,
                    trailers: trailers ?? [:], context: context.child()))
        case .upgrade(let name, let serve):
            let (near, far) = MockChannel.pair()
            var response = Response(to: request, status: status, headers: headers)
            response.upgradedConnection = UpgradedConnection(near, protocolName: name)
            let peer = UpgradedConnection(far, protocolName: name)
            // No code awaits the task, which ends with the closure; the end of the connection ends
            // the closure's reads.
            Task {
                await serve(peer)
                peer.close()
            }
            return response
        }
        return Response(to: request, status: status, headers: headers, body: body)
    }
}

private final class MockBodySource: ResponseBodySource {
    private let chunks: Mutex<ArraySlice<Data>>
    private let interval: Duration
    private let failure: (any Error)?
    let trailers: HTTPHeaders
    private let context: Context

    init(
        chunks: [Data], interval: Duration, failure: (any Error)?, trailers: HTTPHeaders,
        context: Context
    ) {
        self.chunks = Mutex(chunks[...])
        self.interval = interval
        self.failure = failure
        self.trailers = trailers
        self.context = context
    }

    func next() async throws -> Data? {
        try context.checkCancellation()
        try await context.sleep(for: interval)
        if let chunk = chunks.withLock({ $0.popFirst() }) { return chunk }
        if let failure { throw failure }
        return nil
    }

    func cancel(_ reason: CancelReason) { context.cancel(reason) }
}

/// The distribution of the response times of a ``MockTransport``.
public struct MockLatency: Sendable {
    private let quantile: @Sendable (Double) -> Duration

    /// Creates a latency distribution.
    /// - Parameter quantile: Returns the latency that a share (0..<1) of responses does not exceed.
    public init(quantile: @escaping @Sendable (Double) -> Duration) { self.quantile = quantile }

    /// No latency.
    public static let none = constant(.zero)

    /// A constant latency.
    public static func constant(_ latency: Duration) -> Self { Self { _ in latency } }

    /// Returns the latency that a share (0..<1) of the responses does not exceed.
    public func at(share: Double) -> Duration { max(quantile(share), .zero) }

    func draw(from random: CallRandom) -> Duration { at(share: random.unit()) }
}
