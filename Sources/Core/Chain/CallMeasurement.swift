// SPDX-License-Identifier: Apache-2.0

/// The measurements of one request at a recorder, including the response body.
///
/// Outside a retry gate, a recorder measures the whole call. Inside a retry gate, a recorder
/// measures each attempt. The names in parentheses come from OpenTelemetry's semantic conventions
/// for HTTP clients.
public struct CallMeasurement: Sendable {
    /// The method (`http.request.method`).
    public let method: HTTPMethod
    /// Scheme, host and port (`url.scheme`, `server.address`, `server.port`).
    public let origin: Origin?
    /// The status of the response (`http.response.status_code`), or nil without a response.
    public let status: HTTPStatus?
    /// The kind of failure (`error.type`): an error code, a status of 400 or above, or nil.
    ///
    /// For a cancellation, the value is `cancelled`. A body that the caller does not read to the
    /// end is not a failure.
    public let errorType: String?
    /// The protocol version (`network.protocol.version`), if the transport knows it.
    public let version: String?
    /// The time from the arrival of the request at the recorder to the end of the body or to the
    /// error (`http.client.request.duration`).
    public let duration: Duration
    let headDuration: Duration?
    /// The number of earlier requests of the call (`http.request.resend_count`), including retries,
    /// redirects and replays.
    public let resendCount: Int
    /// The number of requests inside the recorder that repeated an earlier request of the call.
    ///
    /// Outside a retry gate, this number includes all repeated requests of the call. Inside a retry
    /// gate, this number is 0 or 1.
    public let resends: Int
    /// The size of the request content in bytes (`http.client.request.body.size`), if known.
    public let requestBodyBytes: Int64?
    /// The size of the response content in bytes (`http.client.response.body.size`).
    ///
    /// The content is measured before decoding. If the transport does not know this size, the
    /// content is measured after decoding (``ResponseBodyEnd/encodedBytes``). If the request
    /// failed, the value is nil.
    public let responseBodyBytes: Int64?
    /// The times of the events of the call.
    public let timeline: Timeline
}

extension CallMeasurement {
    init(
        request: Request, head: ResponseHead?, error: (any Error)?, begin: MonotonicInstant,
        headAt: MonotonicInstant?, bytes: Int64?, sendsBefore: Int, context: Context
    ) {
        method = request.method
        origin = request.origin
        status = head?.status
        version = head?.version
        if let error {
            errorType = ClientError.label(of: error)
        } else if let status = head?.status, status.code >= 400 {
            errorType = String(status.code)
        } else {
            errorType = nil
        }
        duration = begin.duration(to: context.timeSource.now)
        headDuration = headAt.map { begin.duration(to: $0) }
        let sends = context.call.record.sends
        resendCount = max(sends - 1, 0)
        resends = max(sends - max(sendsBefore, 1), 0)
        requestBodyBytes = request.body.length
        responseBodyBytes = bytes
        timeline = context.call.record.timeline
    }
}
