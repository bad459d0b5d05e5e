// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// Sends copies of safe requests to a second group of servers, and compares the responses.
///
/// The call does not wait for the copy, and the result of the copy does not change the call. A copy
/// goes through no gate and is never sent again. The copy ends at its time limit or at the shutdown
/// of the client. A copy that would exceed a limit is dropped and counted.
///
/// The gate copies only the first attempt of a request, and only requests with a safe method (RFC
/// 9110 §9.2.1), content in memory, no condition and no range. A copy to another origin has no
/// cookies. Unless `carriesCredentials` is set, a copy to another origin has no field with a
/// secret, and a request with a secret in the URL has no copy. A client certificate of the
/// transport is used for copies too. If the service has TLS, the group must have TLS.
///
/// Place the gate next to the transport, inside gates that answer, refuse, redirect or delay
/// requests.
public struct MirrorRequests: Interceptor {
    /// The result of a copy, as the value of the label `turnpike.result`.
    enum Result: String, CaseIterable {
        case same, status, content
        /// The copy got no complete response within the time limit.
        case failed
        /// The call failed, or did not read the whole response within the copy's time limit.
        case unread
        /// The copy was dropped because of a limit or a shutdown of the client.
        case dropped
    }

    private typealias Answer = (status: HTTPStatus, digest: Data)

    private let service: ServiceURL
    private let group: ServiceURL
    private let limit: Int
    private let maxBytes: Int
    private let timeLimit: Duration
    private let carriesCredentials: Bool
    let underWay = UnderWay()
    private let figures: GateFigures
    /// The fault of the settings, which fails each call, or nil.
    public let fault: ClientError?

    /// Creates a gate.
    /// - Parameters:
    ///   - service: The base URL of the requests.
    ///   - group: The base URL of the copies.
    ///   - limit: The maximum number of running copies.
    ///   - maxBytes: The maximum number of bytes in the content of a copy and of its response. The
    ///     digest of this content costs a call about 4 ms for each MiB.
    ///   - timeLimit: The time limit of a copy.
    ///   - carriesCredentials: Whether copies to another origin contain secrets, except cookies.
    ///   - meter: Counts the copies by `turnpike.result` (`turnpike.mirror.copies`).
    public init(
        of service: String, to group: String, limit: Int = 32, maxBytes: Int = 1_048_576,
        timeLimit: Duration = .seconds(5), carriesCredentials: Bool = false,
        meter: (any GateMeter)? = nil
    ) {
        self.service = ServiceURL(service)
        self.group = ServiceURL(group)
        self.limit = limit
        self.maxBytes = max(maxBytes, 0)
        self.timeLimit = timeLimit
        self.carriesCredentials = carriesCredentials
        figures = GateFigures(
            meter,
            help: ["turnpike.mirror.copies": "Copies of requests, by result."],
            counters: Result.allCases.map { Self.copies($0) })
        fault = self.service.fault(sendingTo: self.group)
    }

    private static func copies(_ result: Result) -> GateFigure {
        .counter("turnpike.mirror.copies", ["turnpike.result": result.rawValue])
    }

    /// Flushes the meter.
    public func shutdown() async { await figures.flush() }

    /// Reports the destination of copies.
    public func facts(for request: Request?) -> GateFacts? {
        let kinds: KeyValuePairs<GateKind, String> = [
            .cache: "A copy would be sent for each answer of the cache.",
            .redirect: "A redirect would be compared with the response to which it leads.",
            .circuitBreaker: "Requests that the breaker refuses would be copied too.",
            .rateLimit: "Requests that wait or are refused would be copied too.",
        ]
        let isOther = request.map { copy(of: $0) == nil } ?? false
        return GateFacts(
            "sends a copy of each safe request below \(service) to \(group), in the background",
            order: kinds.map { GateOrder(.inside, $0, because: $1) },
            passedOver: isOther ? "requests of this kind are not copied" : nil)
    }

    /// Runs the inner gates, and sends a copy at the same time.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        if let fault { throw fault }
        guard context.attempt == 1, let copy = copy(of: request) else {
            return try await next(request)
        }
        let original = OneShot<Answer?>()
        start(copy, of: original, in: context, over: next.transport)
        do {
            let response = try await next(request)
            watch(response, original)
            return response
        } catch {
            original.settle(.success(nil))
            throw error
        }
    }

    private func copy(of request: Request) -> Request? {
        guard let rest = service.rest(of: request), request.method.isSafe,
            request.body.inMemory != nil, !request.options.isStreaming, !request.options.isOneTime,
            request.options[RetryableOption.self] != false, request.options.upgrade == nil,
            !request.headers.contains(where: {
                $0.name == .range || $0.name.lowercased.hasPrefix("if-")
            })
        else { return nil }
        var copy = request
        group.move(&copy, to: rest)
        copy.options = RequestOptions()
        guard group.origin != service.origin else { return copy }
        let (secrets, url) = (Redaction.standard, copy.url.absoluteString)
        copy.headers.removeAll {
            // The value of a field with a harmless name may contain a URL or a credential.
            $0.name == .cookie || !carriesCredentials && secrets.value(of: $0) != $0.value
        }
        return carriesCredentials || secrets.url(url) == url ? copy : nil
    }

    private func watch(_ response: Response, _ original: OneShot<Answer?>) {
        let status = response.status
        let digest = Digest(upTo: maxBytes)
        if response.body.isEmpty { return _ = original.settle(.success((status, digest.value))) }
        response.body.onChunk { digest.add($0) }
        response.body.onEnd { end in
            original.settle(.success(end.isFinished ? (status, digest.value) : nil))
        }
    }

    // MARK: The copy

    private func start(
        _ copy: Request, of original: OneShot<Answer?>, in context: Context,
        over transport: any Transport
    ) {
        let place = underWay.count.wrappingAdd(1, ordering: .relaxed).oldValue
        guard place < limit, copy.body.inMemory?.count ?? 0 <= maxBytes, copy.fault == nil else {
            return end(.dropped)
        }
        context.report("a copy goes to \(group)", by: gateName, describesPass: true)
        let side = context.sideCall().child()
        // This task belongs to no call. The time limit and the end of the client cancel the context
        // of the task, and thereby end the task.
        _ = Task.apart { [self] in
            let registration = side.onCancel { _ in original.settle(.success(nil)) }
            let timer = side.timeSource.schedule(after: timeLimit) {
                side.cancel(.expired(ClientError(.attemptTimeout, "the copy took too long")))
            }
            defer {
                timer.cancel()
                registration.end()
            }
            do {
                // The task does not wait for a transport that ignores the cancellation of the task.
                let answer = try await side.running { [maxBytes] in
                    let response = try await transport.send(copy, context: side)
                    let content = try await response.body.collect(upTo: maxBytes)
                    return (status: response.status, digest: SHA256.digest(of: content))
                }
                guard let other = try await original.value(onCancel: {}) else {
                    return end(.unread)
                }
                let isSame = other.digest == answer.digest
                end(other.status != answer.status ? .status : isSame ? .same : .content)
            } catch {
                let isTooLarge = (error as? ClientError)?.code == .tooLarge
                end(isTooLarge || side.cancelReason?.owner == .handle ? .dropped : .failed)
            }
        }
    }

    private func end(_ result: Result) {
        underWay.count.wrappingSubtract(1, ordering: .relaxed)
        let figure = Self.copies(result)
        figures.add(1, to: figure.name, labels: figure.labels)
    }

    final class UnderWay: Sendable {
        let count = Atomic(0)
    }

    /// Computes the digest of a body's content, up to a limit, while a reader reads the body.
    private final class Digest: Sendable {
        private let state: Mutex<(hash: SHA256, room: Int)>

        init(upTo maxBytes: Int) { state = Mutex((SHA256(), maxBytes)) }

        var value: Data { state.withLock { $0.hash.finalize() } }

        func add(_ chunk: Data) {
            state.withLock { state in
                if state.room > 0 { state.hash.update(chunk) }
                state.room -= chunk.count
            }
        }
    }
}

extension MirrorRequests: PromptlyCancellable {}

extension Gate where Self == MirrorRequests {
    /// Sends copies of safe requests to a second group of servers; see
    /// ``MirrorRequests/init(of:to:limit:maxBytes:timeLimit:carriesCredentials:meter:)``.
    public static func mirror(
        of service: String, to group: String, limit: Int = 32, maxBytes: Int = 1_048_576,
        timeLimit: Duration = .seconds(5), carriesCredentials: Bool = false,
        meter: (any GateMeter)? = nil
    ) -> Self {
        MirrorRequests(
            of: service, to: group, limit: limit, maxBytes: maxBytes, timeLimit: timeLimit,
            carriesCredentials: carriesCredentials, meter: meter)
    }
}
