// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeSupport

/// Sends identical requests once, and returns the response to all callers.
///
/// If a safe request is running, other requests with the same method, URL and header fields wait
/// for the response. All header fields must be equal, such as `Authorization`, `Cookie`, keys of
/// any name and `Accept-Language`. Calls of different users therefore never share a response. The
/// gate ignores only fields that identify a single call. A request with content is sent alone. A
/// call is sent alone if the call is streaming, or has its own options or gates
/// (``/TurnpikeCore/Call/through(_:)``). Place this gate inside the gates that set credentials for
/// each call.
///
/// Each call keeps its own deadline. If one call is cancelled, the other calls continue. If all
/// calls are cancelled, the exchange ends. The gate reads the whole content before any call gets
/// the response. If the content is larger than `maxBody`, or is an event stream, the first waiting
/// call streams the content, and the other calls are sent alone. If the exchange fails, all calls
/// get the same error.
public struct Coalesce: Interceptor {
    private let maxBody: Int
    private let ignored: Set<HTTPHeaders.Name>
    private let flights = Flights<FlightKey, Answer>()

    private struct FlightKey: Hashable {
        let method: HTTPMethod
        let url: String
        let headers: [HTTPHeaders.Field]
        let plan: ObjectIdentifier
        // A call that may connect only to public addresses does not share the response of a call
        // that may connect to any address.
        let isGuarded: Bool
    }

    private struct Answer {
        let head: ResponseHead
        let content: Data
        let trailers: HTTPHeaders
    }

    /// Creates a gate that coalesces.
    /// - Parameters:
    ///   - maxBody: The maximum number of bytes of content that calls share.
    ///   - ignored: The header fields that may differ between identical requests. Cookies,
    ///     credentials and API keys must always be equal.
    public init(
        maxBody: Int = 1_048_576,
        ignoring ignored: Set<HTTPHeaders.Name> = Coalesce.standardIgnored
    ) {
        // The gate reads one byte beyond the limit to detect longer content.
        self.maxBody = min(max(maxBody, 0), .max - 1)
        self.ignored = ignored.filter { CallerIdentity.part($0) == nil }
    }

    var waiting: Int { flights.seatCount }

    /// Header fields that only identify a single call.
    public static let standardIgnored: Set<HTTPHeaders.Name> = [
        .traceparent, .tracestate, "X-Request-ID", "X-Correlation-ID",
    ]

    /// Reports that requests share a response, and the content that the gate keeps in memory.
    public func facts(for request: Request?) -> GateFacts? {
        GateFacts(
            "sends identical requests once", .answers(.shared),
            .readsContent(upTo: Int64(maxBody) + 1),
            passedOver: request.flatMap(obstacle))
    }

    // Returns the reason why a request is sent alone, or nil if the request may share a response.
    private func obstacle(to request: Request) -> String? {
        if !request.method.isSafe { return "\(request.method) may have an effect each time" }
        if !request.body.isEmpty { return "the request has content" }
        return request.options.allowSharing ? nil : "the call has its own options"
    }

    /// Joins the exchange for the request, or starts an exchange.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        guard let key = key(request, next) else { return try await next(request) }
        try context.checkCancellation()
        let seat = flights.join(key, context: context.detached())
        if seat.isFirst {
            flights.start(seat) { await fly(request, seat, context: $0, next) }
        } else {
            context.report("waits for the response to an identical request", by: gateName)
        }
        switch try await flights.landing(seat, in: context) {
        case .shared(let answer):
            let body = ResponseBody(answer.content, trailers: answer.trailers)
            return Response(head: answer.head, body: body)
        case .own(let response): return response.adopted(by: context)
        case .alone: return try await next(request)
        }
    }

    private func key(_ request: Request, _ next: Next) -> FlightKey? {
        guard request.method.isSafe, request.body.isEmpty, request.headers.defect == nil,
            request.options.allowSharing
        else { return nil }
        return FlightKey(
            method: request.method, url: request.targetURI.text,
            headers: request.headers.filter { !ignored.contains($0.name) },
            plan: next.planIdentity, isGuarded: request.options.addressRule != nil)
    }

    private func fly(
        _ request: Request, _ seat: Flights<FlightKey, Answer>.Seat, context: Context,
        _ next: Next
    ) async {
        do {
            var response = try await next(request, context: context)
            if isTooLong(response) { return flights.handOver(seat, response) }
            let body = response.body
            let content = try await response.body.peek(upTo: maxBody + 1)
            if content.count > maxBody { return flights.handOver(seat, response) }
            let answer = Answer(head: response.head, content: content, trailers: body.trailers)
            flights.land(seat, .success(answer))
        } catch {
            flights.land(seat, .failure(error))
        }
    }

    private func isTooLong(_ response: Response) -> Bool {
        if let length = response.body.length, length > maxBody { return true }
        let type = response.headers[.contentType].flatMap { MediaType(parsing: $0) }
        return type?.type == "text" && type?.subtype == "event-stream"
    }
}

extension RequestOptions {
    // Whether calls with these options may share an exchange. Outer gates must handle all options.
    var allowSharing: Bool {
        if isEmpty { return true }
        var options = self
        options[DeadlineOption.self] = nil
        options[RetryableOption.self] = nil
        if options.addressRule?.allowsPublicAlone == true { options.addressRule = nil }
        return options.isEmpty
    }
}

extension Gate where Self == Coalesce {
    /// Sends identical requests once; see ``Coalesce/init(maxBody:ignoring:)``.
    public static func coalesce(
        maxBody: Int = 1_048_576,
        ignoring ignored: Set<HTTPHeaders.Name> = Coalesce.standardIgnored
    ) -> Self {
        Coalesce(maxBody: maxBody, ignoring: ignored)
    }
}
