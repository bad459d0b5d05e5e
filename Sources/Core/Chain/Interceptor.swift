// SPDX-License-Identifier: Apache-2.0

/// A gate that runs code before and after the inner gates.
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
/// An interceptor may call `next` any number of times, or never. The errors of an interceptor reach
/// the caller unchanged. If the type of an interceptor also has roles (``Gate``), the roles are
/// ignored. An interceptor must call ``Response/discard(in:keeping:)`` for each response of `next`
/// that the interceptor does not return.
public protocol Interceptor: Gate {
    /// Handles a request.
    /// - Parameters:
    ///   - request: The request with the changes of the outer gates.
    ///   - context: The environment of the request.
    ///   - next: The inner gates and the transport.
    /// - Returns: The response for the outer gates.
    /// - Throws: Any error, which reaches the caller unchanged.
    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response
}

/// An interceptor with separate methods that run before and after the inner gates.
///
/// ```swift
/// struct Refuse451: PhasedInterceptor {
///     func after(_ response: Response, to request: Request, context: Context) throws -> Bool {
///         if response.status != 451 { return true }
///         response.body.cancel(.drop)
///         throw Unavailable()
///     }
/// }
/// ```
///
/// The chain runs consecutive gates of this kind in one asynchronous function, which saves an
/// asynchronous frame for each gate. Conform to this protocol if the gate is in the stack of every
/// call. For all other gates, an ``Interceptor`` is simpler.
public protocol PhasedInterceptor: Interceptor {
    /// Runs before the inner gates.
    /// - Parameters:
    ///   - request: The request. A gate that only changes requests is a ``RequestAdapter``.
    ///   - context: The environment of the request.
    ///   - next: The inner gates and the transport.
    /// - Returns: The context for the inner gates: `context`, or a child such as
    ///   ``Context/child(within:upToHead:orThrow:)``. If the child is cancelled, the caller gets
    ///   the error of the reason at once, as with ``Next/promptly(_:in:)``.
    /// - Throws: An error that ends the request.
    func before(_ request: Request, context: Context, next: Next) throws -> Context

    /// Runs when the head of a response has arrived.
    /// - Parameters:
    ///   - response: The response.
    ///   - request: The request that ``before(_:context:next:)`` got.
    ///   - context: The environment of the request.
    /// - Returns: Whether the outer gates get the response. If false,
    ///   ``resume(after:to:context:next:)`` handles the response.
    /// - Throws: An error for the outer gates. Before the gate throws an error, the gate must end
    ///   the response.
    func after(_ response: Response, to request: Request, context: Context) throws -> Bool

    /// Handles an error, or a response for which ``after(_:to:context:)`` returned false.
    /// - Parameters:
    ///   - result: The error or the response.
    ///   - request: The request.
    ///   - context: The environment of the request.
    ///   - next: The inner gates and the transport, which may run again.
    /// - Returns: The response for the outer gates.
    /// - Throws: The error for the outer gates.
    func resume(
        after result: Result<Response, any Error>, to request: Request, context: Context, next: Next
    ) async throws -> Response
}

extension PhasedInterceptor {
    /// Returns the context unchanged, by default.
    public func before(_ request: Request, context: Context, next: Next) throws -> Context {
        context
    }

    /// Returns true, by default.
    public func after(_ response: Response, to request: Request, context: Context) throws -> Bool {
        true
    }

    /// Returns the response or throws the error, by default.
    public func resume(
        after result: Result<Response, any Error>, to request: Request, context: Context, next: Next
    ) async throws -> Response { try result.get() }

    /// Runs ``before(_:context:next:)``, the inner gates, and the methods for the result.
    public func intercept(_ request: Request, context: Context, next: Next) async throws -> Response
    {
        let inner = try before(request, context: context, next: next)
        let result: Result<Response, any Error>
        do {
            result = .success(
                inner !== context && inner.isLimit
                    ? try await next.promptly(request, in: inner)
                    : try await next(request, context: inner))
        } catch {
            result = .failure(error)
        }
        if case .success(let response) = result,
            try after(response, to: request, context: context)
        {
            return response
        }
        return try await resume(after: result, to: request, context: context, next: next)
    }
}
