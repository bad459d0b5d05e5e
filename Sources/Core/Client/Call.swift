import Foundation

/// A description of one exchange: a request, the client that will send it, and the gates of this
/// call.
///
/// Nothing is sent before a terminal is awaited or ``start(_:)`` is called, and each of them sends
/// anew. Several readers of one exchange share its running handle.
public struct Call: Sendable {
    let client: Client

    /// The request; the client's gates may change it further.
    public var request: Request

    /// The serializers of the client.
    public var serializers: SerializerTable { client.serializers }

    /// The clocks and timers of the client.
    public var timeSource: any TimeSource { client.timeSource }

    private var gates: [any Gate] = []

    init(client: Client, request: Request) {
        self.client = client
        self.request = request
    }

    // MARK: What this call wishes

    /// Adds a gate for this call alone, nearest the transport.
    public func through(_ gate: any Gate) -> Call {
        var copy = self
        copy.gates.append(gate)
        return copy
    }

    /// Sets a wish under a key of request options.
    public func option<Key: RequestOptionKey>(_ key: Key.Type, _ value: Key.Value) -> Call {
        var copy = self
        copy.request.options[key] = value
        return copy
    }

    /// Sets a header field.
    public func header(_ name: HTTPHeaders.Name, _ value: String) -> Call {
        var copy = self
        copy.request.headers[name] = value
        return copy
    }

    /// Vouches that the request may be sent twice, though its method is not idempotent; with false,
    /// keeps it from being tried again, whatever its method.
    public func retryable(_ isRetryable: Bool = true) -> Call {
        option(RetryableOption.self, isRetryable)
    }

    /// Lets the response last as long as its server likes: a deadline then covers what comes before
    /// the body, and idle limits do not apply.
    public func streaming() -> Call { option(StreamingOption.self, true) }

    /// Waits between the exchanges of a call that makes several of them.
    ///
    /// The wait is one of the client's running calls, so that what ends those ends it.
    /// - Throws: `CancellationError`, or ``ClientError/Code/cancelled`` where the client was shut
    ///   down before.
    package func wait(for duration: Duration) async throws {
        try await client.begin(request).context.sleep(for: duration)
    }

    // MARK: Terminals

    /// Sends the request and returns when the head of the response has come; the body is still to
    /// be read.
    public func response() async throws -> Response { try await send(accept: []).response }

    /// Sends the request and turns the response into a value.
    public func serialize<Serializer: ResponseSerializer>(
        with serializer: Serializer
    ) async throws -> Serializer.Output {
        try await serialize(with: serializer, in: try begin(for: serializer))
    }

    func begin<Serializer: ResponseSerializer>(
        for serializer: Serializer
    ) throws -> (plan: Plan, context: Context) {
        try client.begin(
            request, collecting: serializer.collectedBytes(in: client.serializers))
    }

    func serialize<Serializer: ResponseSerializer>(
        with serializer: Serializer, in running: (plan: Plan, context: Context)
    ) async throws -> Serializer.Output {
        let (response, request) = try await send(
            accept: serializer.accept(in: client.serializers), in: running)
        let context = running.context
        do {
            let value = try await serializer.serialize(
                response,
                context: SerializationContext(
                    request: request, table: client.serializers,
                    maxBytes: context[CollectLimit.self],
                    maxLineBytes: context[LineLimit.self]))
            context.call.record.updateTimeline { $0.serialized = context.timeSource.now }
            return value
        } catch {
            throw Self.complete(error, context)
        }
    }

    private func send(
        accept: [MediaType]
    ) async throws -> (response: Response, request: Request) {
        try await send(accept: accept, in: try client.begin(request))
    }

    private func send(
        accept: [MediaType], in running: (plan: Plan, context: Context)
    ) async throws -> (response: Response, request: Request) {
        try Task.checkCancellation()
        var request = request
        if !accept.isEmpty, !request.headers.contains(.accept) {
            request.headers[.accept] = accept.map(\.description).joined(separator: ", ")
        }
        request.describeBody()
        request.moveUserInformation()
        let plan = running.plan.extended(
            outside: request.options.gates(unless: running.plan.handledOptions), inside: gates)
        do {
            return (try await plan.run(request, from: 0, in: running.context), request)
        } catch {
            throw Self.complete(error, running.context)
        }
    }

    // An error tells of the request as it was sent, after all gates.
    private static func complete(_ error: any Error, _ context: Context) -> any Error {
        guard let error = error as? ClientError else { return error }
        let record = context.call.record
        return error.completed(
            sent: record.lastSent, attempts: record.sends,
            retryAfter: RetryAfter.delay(in: error.response, now: context.timeSource.date),
            history: record.history
        ).explained(by: record.lastStop)
    }
}

extension Request {
    /// Turns user information in the URL into a Basic credential (RFC 7617), which only its origin
    /// gets.
    package mutating func moveUserInformation() {
        guard mayHoldUser, let user = url.user(percentEncoded: true), fault == nil
        else { return }
        var components = URLComponents(url: url, resolvingAgainstBaseURL: true)
        let password = components?.password ?? ""
        let name = user.removingPercentEncoding ?? user
        components?.user = nil
        components?.password = nil
        guard let bare = components?.url else { return }
        url = bare
        if !headers.contains(.authorization) {
            let credential = Data("\(name):\(password)".utf8).base64EncodedString()
            headers[.authorization] = "Basic " + credential
        }
    }
}
