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
/// Place this gate outside all gates whose failures the gate must replace. Inside a retry gate, a
/// substitute response prevents retries. If the caller cancels a call, the call gets no substitute
/// response. The gate drains or cancels the response that the gate replaces. If a body breaks off
/// after the head, the gate replaces the response only if an inner ``Retry`` has buffered the body.
public struct Fallback: Interceptor {
    private let condition: @Sendable (Outcome) -> Bool
    private let answer: @Sendable (Outcome, Context) async throws -> Response
    private let isFixed: Bool

    /// Creates a fallback whose response comes from a closure.
    /// - Parameters:
    ///   - condition: Returns whether to replace an outcome. By default, the gate replaces every
    ///     error and every status of 500 or more, even if a validator has refused the response.
    ///   - answer: Returns the substitute response, or throws the error for the call. The closure
    ///     may suspend until the deadline of the call ends.
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
    ///   - condition: Returns whether to replace an outcome; see ``init(when:_:)``.
    public init(
        status: HTTPStatus, headers: HTTPHeaders = [:], body: Data = Data(),
        when condition: @escaping @Sendable (Outcome) -> Bool = Fallback.standardCondition
    ) {
        self.init(when: condition, isFixed: true) { outcome, _ in
            Response(
                to: outcome.request, status: status, headers: headers, body: ResponseBody(body))
        }
    }

    /// Whether an outcome is an error or has a status of 500 or more.
    ///
    /// If a validator refused the response, the status of that response decides.
    public static func standardCondition(_ outcome: Outcome) -> Bool {
        outcome.status.map { $0.code >= 500 } ?? true
    }

    /// States that the gate returns a substitute response.
    public func facts(for request: Request?) -> GateFacts? {
        var facts = GateFacts("returns a substitute when a call fails", .answers(.substitute))
        if !isFixed { facts.effects.append(.waits(atMost: nil, reason: "the substitute")) }
        return facts
    }

    /// Runs the inner gates, and returns the substitute response after a failure.
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

    // The end of a deadline inside this gate is a failure. The end of a deadline outside this gate
    // cancels the context.
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

    /// Returns the same substitute response for each failed call; see
    /// ``Fallback/init(status:headers:body:when:)``.
    public static func fallback(
        status: HTTPStatus, headers: HTTPHeaders = [:], body: Data = Data(),
        when condition: @escaping @Sendable (Outcome) -> Bool = Fallback.standardCondition
    ) -> Self {
        Fallback(status: status, headers: headers, body: body, when: condition)
    }
}
