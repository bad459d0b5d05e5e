/// The figures of one pass through a recorder's position, its response's body included.
///
/// Around a retry a pass is a call, inside it an attempt. The names in brackets are those of
/// OpenTelemetry's semantic conventions for HTTP clients.
public struct CallMeasurement: Sendable {
    /// The method (`http.request.method`).
    public let method: HTTPMethod
    /// Scheme, host and port (`url.scheme`, `server.address`, `server.port`).
    public let origin: Origin?
    /// The status of the response (`http.response.status_code`), where one came.
    public let status: HTTPStatus?
    /// The kind of failure (`error.type`): a code, a status from 400 on, or nil.
    ///
    /// A cancellation is `cancelled`; a body that its reader let go of is no failure.
    public let errorType: String?
    /// The version of the protocol (`network.protocol.version`), where the transport knows it.
    public let version: String?
    /// From the beginning of the pass to the end of the body, or to the error
    /// (`http.client.request.duration`).
    public let duration: Duration
    /// From the beginning of the pass to the head of the response.
    public let headDuration: Duration?
    /// How many sends of the call came before the last one of this pass
    /// (`http.request.resend_count`): retries, redirects and replays.
    public let resendCount: Int
    /// How many sends of the call, while this pass lasted, repeated an earlier one.
    ///
    /// Around a retry these are all of the call's, inside it none or one.
    public let resends: Int
    /// The content that was sent (`http.client.request.body.size`), where it is known.
    public let requestBodyBytes: Int64?
    /// The content that was read (`http.client.response.body.size`).
    public let responseBodyBytes: Int64
    /// When things happened in the call.
    public let timeline: Timeline
}

extension CallMeasurement {
    init(
        request: Request, head: ResponseHead?, error: (any Error)?, begin: MonotonicInstant,
        headAt: MonotonicInstant?, bytes: Int64, sendsBefore: Int, context: Context
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
