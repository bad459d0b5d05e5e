// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Describes a request, the client that sends the request, and gates for this call only.
///
/// Nothing is sent before a method such as ``response()`` is awaited or ``start(_:)`` is called.
/// Every method that waits for a response sends the request again. If several tasks need the same
/// result, share the ``RunningCall`` that ``start(_:)`` returns.
public struct Call: Sendable {
    let client: Client

    /// The request, which the client's gates may still change.
    public var request: Request

    /// The serializers of the client.
    public var serializers: SerializerTable { client.serializers }

    /// The clocks and timers of the client.
    public var timeSource: any TimeSource { client.timeSource }

    private var gates: [any Gate] = []

    /// The readers of this call, such as a trace, in addition to the reader of the client.
    public var readers: [any CallReader] = []

    init(client: Client, request: Request) {
        self.client = client
        self.request = request
    }

    // MARK: Options of this call

    /// Adds a gate for this call only, inside all other gates.
    public func through(_ gate: any Gate) -> Call {
        var copy = self
        copy.gates.append(gate)
        return copy
    }

    /// Sets a request option.
    public func option<Key: OptionKey>(_ key: Key.Type, _ value: Key.Value) -> Call {
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

    /// Allows or forbids that a gate sends the request twice, for any method.
    public func retryable(_ isRetryable: Bool = true) -> Call {
        option(RetryableOption.self, isRetryable)
    }

    /// Allows a response body of any duration; a deadline ends with the response head, and the idle
    /// limit of the client does not apply.
    public func streaming() -> Call { option(StreamingOption.self, true) }

    /// Waits between two sends of a call, for example before the state of a job is requested again.
    ///
    /// ```swift
    /// let job = client.get("jobs/7")
    /// var response = try await job.response()
    /// while response.status == .accepted {
    ///     try await job.wait(for: response.headers.retryAfter(at: Date()) ?? .seconds(2))
    ///     response = try await job.response()
    /// }
    /// ```
    ///
    /// The client's ``TimeSource`` measures the time. The wait counts as a running call of the
    /// client, and a cancellation of all running calls ends the wait. The wait has no deadline.
    /// - Parameter duration: How long to wait. If the duration is zero or less, the method returns
    ///   at once.
    /// - Throws: `CancellationError`, or ``ClientError/Code/cancelled`` after a shutdown.
    public func wait(for duration: Duration) async throws {
        // Only calls with an exchange have readers.
        try await client.begin(request, isRead: false).context.sleep(for: duration)
    }

    // MARK: Sending

    /// Sends the request and returns when the response head has arrived, before the body is read.
    public func response() async throws -> Response {
        let running = try client.begin(request, readers)
        var (response, request) = try await send(accept: [], in: running)
        response.serialization = serialization(of: request, running.context)
        running.context.left(.success(response.status))
        return response
    }

    /// Sends the request and converts the response into a value.
    public func serialize<Serializer: ResponseSerializer>(
        with serializer: Serializer
    ) async throws -> Serializer.Output {
        try await serialized(with: serializer, in: try begin(for: serializer)).value
    }

    /// Sends the request, and returns both the value and the response.
    ///
    /// The content of the response has been read, unless the serializer streams.
    public func serialized<Serializer: ResponseSerializer>(
        with serializer: Serializer
    ) async throws -> (value: Serializer.Output, response: Response) {
        try await serialized(with: serializer, in: try begin(for: serializer))
    }

    func begin<Serializer: ResponseSerializer>(
        for serializer: Serializer
    ) throws -> (plan: Plan, context: Context) {
        try client.begin(
            request, readers, collecting: serializer.collectedBytes(in: client.serializers))
    }

    // The method is inlined, because an asynchronous frame may cost an allocation.
    @inline(__always)
    func serialized<Serializer: ResponseSerializer>(
        with serializer: Serializer, in running: (plan: Plan, context: Context),
        onResponse: (Response) -> Void = { _ in }
    ) async throws -> (value: Serializer.Output, response: Response) {
        let (response, request) = try await send(
            accept: serializer.accept(in: client.serializers), in: running)
        onResponse(response)
        let context = running.context
        do {
            let value = try await serializer.serialize(
                response, context: serialization(of: request, context))
            context.didMakeValue(of: response)
            return (value, response)
        } catch {
            throw context.failed(error)
        }
    }

    /// Sends the request, and reads the response with a function on the caller's actor.
    public func read<Value>(
        _ read: (Response, SerializationContext) async throws -> Value
    ) async throws -> Value {
        let running = try client.begin(request, readers)
        let (response, request) = try await send(accept: [], in: running)
        let context = running.context
        do {
            let value = try await read(response, serialization(of: request, context))
            context.didMakeValue(of: response)
            return value
        } catch {
            throw context.failed(error)
        }
    }

    private func serialization(of request: Request, _ context: Context) -> SerializationContext {
        SerializationContext(
            request: request, table: client.serializers, maxBytes: context.maxBytes,
            maxLineBytes: context.maxLineBytes)
    }

    @inline(__always)
    private func send(
        accept: [MediaType], in running: (plan: Plan, context: Context)
    ) async throws -> (response: Response, request: Request) {
        let (plan, request) = try complete(accept: accept, in: running)
        do {
            let response = try await plan.run(request, from: 0, in: running.context)
            return (chosen(response, in: running.context), request)
        } catch {
            throw running.context.failed(error)
        }
    }

    /// The function is separate, because the frame of a suspended call must not hold these values.
    @inline(never)
    private func complete(
        accept: [MediaType], in running: (plan: Plan, context: Context)
    ) throws -> (Plan, Request) {
        var request = request
        do {
            try Task.checkCancellation()
            if !accept.isEmpty, !request.headers.contains(.accept) {
                request.headers[.accept] = accept.map(\.description).joined(separator: ", ")
            }
            request.describeBody()
            request.moveUserInformation()
            let plan = try extended(running.plan, for: request.options)
            if let fault = plan.fault { throw fault }
            return (plan, request)
        } catch {
            running.context.left(.failure(error))
            throw error
        }
    }

    @inline(never)
    private func chosen(_ response: Response, in context: Context) -> Response {
        var response = response
        // A response from a gate has no history, unlike a response from the transport.
        if response.history == nil { response.history = context.call.record }
        context.call.record.didChoose(response.exchange)
        context.tell(.responded(response))
        return response
    }

    /// The plan without the gates that the call leaves out, and with the gates that the call adds.
    private func extended(_ plan: Plan, for options: RequestOptions) throws -> Plan {
        if gates.isEmpty && options.isEmpty { return plan }
        let plan = try plan.remaining(for: options)
        let handled = plan.handledOptions
        return plan.extended(
            outside: options.gates(at: .outermost, unless: handled),
            inside: gates + options.gates(at: .innermost, unless: handled))
    }
}

extension Call {
    /// Leaves gates of the client's stack out of this call: `without("cache")`.
    ///
    /// The names are values of ``Gate/gateName``, in upper or lower case. If a call leaves out a
    /// group, the call also leaves out the gates of the group. If no gate has the name, the call
    /// fails with ``ClientError/Code/configuration``. The call fails with the same code if the
    /// facts of a gate state that the gate checks targets, upgrades the scheme, follows redirects,
    /// sets credentials, or limits content, decoding, the rate or concurrency.
    public func without(_ names: String...) -> Call {
        names.reduce(self) { call, name in
            call.without(LeftOut(name: name) { $0.gateName.lowercased() == name.lowercased() })
        }
    }

    /// Leaves all gates of a type out of this call, with the same rules as for names.
    public func without<Left: Gate>(_ type: Left.Type) -> Call {
        without(LeftOut(name: String(describing: type)) { $0 is Left })
    }

    private func without(_ gates: LeftOut) -> Call {
        option(LeftOutOption.self, (request.options[LeftOutOption.self] ?? []) + [gates])
    }
}

extension Context {
    fileprivate func didMakeValue(of response: Response) {
        call.record.didSerialize(at: timeSource.now)
        left(.success(response.status))
    }

    fileprivate func failed(_ error: any Error) -> any Error {
        let error = call.record.completed(error, at: timeSource.date)
        left(.failure(error))
        return error
    }
}

extension Request {
    /// Moves user information from the URL into a Basic credential (RFC 7617).
    ///
    /// The credential is sent only to the origin of the URL. The method runs before the first gate
    /// of a call. If a gate creates a request, the gate calls this method for the new request.
    public mutating func moveUserInformation() {
        guard let user = targetURI.userInformation, fault == nil else { return }
        let parts = user.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            .map { PercentEncoding.decode($0) ?? String($0) }
        targetURI = targetURI.withoutUserInformation
        if !headers.contains(.authorization) {
            let credential = Data("\(parts[0]):\(parts.count > 1 ? parts[1] : "")".utf8)
                .base64EncodedString()
            headers[.authorization] = "Basic " + credential
        }
    }
}
