// SPDX-License-Identifier: Apache-2.0

/// A gate that wraps the rest of the chain.
///
/// ```swift
/// struct Mirror: Interceptor {
///     let fallback: URL
///     func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
///         do {
///             return try await next(request)
///         } catch let error as ClientError
///             where error.transfer?.isUnsent == true && request.body.isReplayable
///         {
///             var second = request
///             second.url = fallback
///             return try await next.attempt(second)
///         }
///     }
/// }
/// ```
///
/// An interceptor may call `next` any number of times, or not at all. Its errors reach the caller
/// unchanged. If its type has roles as well (``Gate``), they are ignored. It must pass each response
/// that it does not return to ``Response/discard(in:keeping:)``.
public protocol Interceptor: Gate {
    /// Handles a request.
    /// - Parameters:
    ///   - request: The request as the outer gates left it.
    ///   - context: The environment of the request.
    ///   - next: The rest of the chain.
    /// - Returns: The response for the outer gates.
    /// - Throws: Any error; it reaches the caller unchanged.
    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response
}
