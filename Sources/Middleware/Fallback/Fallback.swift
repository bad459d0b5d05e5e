public import Foundation
public import TurnpikeCore

/// Answers in the server's place when a call fails.
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
/// Place it outside all gates whose failures it covers; inside a retry it would hide from the retry
/// what is to be tried again. A call that its caller gives up is never answered so. The response
/// that is replaced is drained or cancelled; a body that breaks off after its head is not replaced,
/// unless a ``Retry`` inside has kept it.
public struct Fallback: Interceptor {
    /// Makes the answer, or throws what the call is to fail with.
    public typealias Answer = @Sendable (Outcome, Context) async throws -> Response

    private let condition: @Sendable (Outcome) -> Bool
    private let answer: Answer

    /// Creates a fallback that a closure answers.
    /// - Parameters:
    ///   - condition: Whether an outcome is replaced; by default every error and every status from
    ///     500 on, a refused one too.
    ///   - answer: Makes the answer. It may wait, within the call's deadline.
    public init(
        when condition: @escaping @Sendable (Outcome) -> Bool = Fallback.standardCondition,
        _ answer: @escaping Answer
    ) {
        self.condition = condition
        self.answer = answer
    }

    /// Creates a fallback that always gives the same response.
    /// - Parameters:
    ///   - status: The status.
    ///   - headers: The header fields.
    ///   - body: The content.
    ///   - condition: Whether an outcome is replaced; see ``init(when:_:)``.
    public init(
        status: HTTPStatus, headers: HTTPHeaders = [:], body: Data = Data(),
        when condition: @escaping @Sendable (Outcome) -> Bool = Fallback.standardCondition
    ) {
        self.init(when: condition) { outcome, _ in
            Response(
                to: outcome.request, status: status, headers: headers, body: ResponseBody(body))
        }
    }

    /// Every error and every status from 500 on.
    ///
    /// An error that refuses a response is judged by its status.
    public static func standardCondition(_ outcome: Outcome) -> Bool {
        outcome.status.map { $0.code >= 500 } ?? true
    }

    /// Passes the request on, and answers itself where that fails.
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
        context.note(gate: name, "answers in the server's place")
        return try await answer(outcome, context)
    }

    // A deadline inside this gate is a failure like others; one outside has cancelled the context.
    private func isGivenUp(_ outcome: Outcome, _ context: Context) -> Bool {
        outcome.error is CancellationError || outcome.code == .cancelled
            || context.cancelReason != nil || Task.isCancelled
    }
}

extension Gate where Self == Fallback {
    /// Answers by a closure when a call fails; see ``Fallback/init(when:_:)``.
    public static func fallback(
        when condition: @escaping @Sendable (Outcome) -> Bool = Fallback.standardCondition,
        _ answer: @escaping Fallback.Answer
    ) -> Self {
        Fallback(when: condition, answer)
    }

    /// Gives the same response whenever a call fails; see
    /// ``Fallback/init(status:headers:body:when:)``.
    public static func fallback(
        status: HTTPStatus, headers: HTTPHeaders = [:], body: Data = Data(),
        when condition: @escaping @Sendable (Outcome) -> Bool = Fallback.standardCondition
    ) -> Self {
        Fallback(status: status, headers: headers, body: body, when: condition)
    }
}
