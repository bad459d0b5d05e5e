// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeSupport

/// Returns a substitute response when a call fails.
///
/// ```swift
/// let client = Client(baseURL: "https://api.example.com/", stack: [
///     .fallback { outcome, _ in
///         Response(to: outcome.request, status: .ok, body: ResponseBody(Data("[]".utf8)))
///     },
///     .deadline(.seconds(2)), .retry(), .circuitBreaker(),
/// ])
/// ```
///
/// Place it outside all gates whose failures it covers. Inside a retry, it would hide failures from
/// the retry. A call that its caller cancels gets no substitute. The replaced response is drained
/// or cancelled. If a body breaks off after its head, the response is not replaced, unless a
/// ``Retry`` inside has kept the body.
public struct Fallback: Interceptor {
    private let condition: @Sendable (Outcome) -> Bool
    private let answer: @Sendable (Outcome, Context) async throws -> Response
    private let isFixed: Bool

    /// Creates a fallback whose response comes from a closure.
    /// - Parameters:
    ///   - condition: Whether an outcome is replaced; by default, every error and every status from
    ///     500 on, even if a validator has refused the response.
    ///   - answer: Returns the substitute response, or throws the error that the call fails with. It
    ///     may suspend, within the call's deadline.
    public init(
        when condition: @escaping @Sendable (Outcome) -> Bool = Fallback.standardCondition,
        _ answer: @escaping @Sendable (Outcome, Context) async throws -> Response
    ) {
        self.init(when: condition, isFixed: false, answer)
    }

    private init(
        when condition: @escaping @Sendable (Outcome) -> Bool, isFixed: Bool,
        _ answer: @escaping @Sendable (Outcome, Context) async throws -> Response
    ) {
        self.condition = condition
        self.isFixed = isFixed
        self.answer = answer
    }

    /// Creates a fallback that always returns the same response.
    /// - Parameters:
    ///   - status: The status.
    ///   - headers: The header fields.
    ///   - body: The content.
    ///   - condition: Whether an outcome is replaced; see ``init(when:_:)``.
    public init(
        status: HTTPStatus, headers: HTTPHeaders = [:], body: Data = Data(),
        when condition: @escaping @Sendable (Outcome) -> Bool = Fallback.standardCondition
    ) {
        self.init(when: condition, isFixed: true) { outcome, _ in
            Response(
                to: outcome.request, status: status, headers: headers, body: ResponseBody(body))
        }
    }

    /// Whether an outcome is an error or has a status from 500 on.
    ///
    /// If an error refuses a response, the status of that response decides.
    public static func standardCondition(_ outcome: Outcome) -> Bool {
        outcome.status.map { $0.code >= 500 } ?? true
    }

    /// States that the gate returns a substitute.
    public func facts(for request: Request?) -> GateFacts? {
        var facts = GateFacts("returns a substitute when a call fails", .answers(.substitute))
        if !isFixed { facts.effects.append(.waits(atMost: nil, reason: "the substitute")) }
        return facts
    }

    /// Runs the rest of the chain, and returns the substitute response if it fails.
    public func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        let result: Result<Response, any Error>
        do {
            result = .success(try await next(request))
        } catch {
            result = .failure(error)
        }
        let outcome = Outcome(request: request, result: result)
        if isGivenUp(outcome, context) || !condition(outcome) { return try result.get() }
        await outcome.response?.discard(in: context)
        context.report("returns a substitute response", by: gateName)
        return try await answer(outcome, context)
    }

    // An exceeded deadline inside this gate is a failure; one outside has cancelled the context.
    private func isGivenUp(_ outcome: Outcome, _ context: Context) -> Bool {
        outcome.error.map(ClientError.isCancellation) ?? false
            || context.cancelReason != nil || Task.isCancelled
    }
}

extension Gate where Self == Fallback {
    /// Returns the response of a closure when a call fails; see ``Fallback/init(when:_:)``.
    public static func fallback(
        when condition: @escaping @Sendable (Outcome) -> Bool = Fallback.standardCondition,
        _ answer: @escaping @Sendable (Outcome, Context) async throws -> Response
    ) -> Self {
        Fallback(when: condition, answer)
    }

    /// Returns the same response whenever a call fails; see
    /// ``Fallback/init(status:headers:body:when:)``.
    public static func fallback(
        status: HTTPStatus, headers: HTTPHeaders = [:], body: Data = Data(),
        when condition: @escaping @Sendable (Outcome) -> Bool = Fallback.standardCondition
    ) -> Self {
        Fallback(status: status, headers: headers, body: body, when: condition)
    }
}
