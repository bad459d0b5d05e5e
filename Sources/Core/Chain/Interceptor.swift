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
/// An interceptor may call `next` any number of times, or never. The errors of an interceptor reach
/// the caller unchanged. If its type also has roles (``Gate``), the roles are ignored. For a
/// response of `next` that an interceptor does not return, it must call
/// ``Response/discard(in:keeping:)``.
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

/// An interceptor that acts before the rest of the chain and on the result of the chain.
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
/// If gates of this kind follow one another, the chain runs them in one asynchronous function, so
/// none of them costs its own asynchronous frame. Conform to this protocol if the gate is in the
/// stack of every call. For all other gates, an ``Interceptor`` is simpler.
public protocol PhasedInterceptor: Interceptor {
    /// Acts before the rest of the chain.
    /// - Parameters:
    ///   - request: The request. A gate that changes requests is a ``RequestAdapter`` instead.
    ///   - context: The environment of the request.
    ///   - next: The rest of the chain.
    /// - Returns: The context for the rest of the chain: `context` or a child of it, such as
    ///   ``Context/child(within:upToHead:orThrow:)``. If a child is cancelled, the caller gets the
    ///   error of the reason at once, as with ``Next/promptly(_:in:)``.
    /// - Throws: An error that ends the request.
    func before(_ request: Request, context: Context, next: Next) throws -> Context

    /// Acts on a response whose head has arrived.
    /// - Parameters:
    ///   - response: The response.
    ///   - request: The request that ``before(_:context:next:)`` got.
    ///   - context: The environment of the request.
    /// - Returns: Whether the outer gates get the response. If false,
    ///   ``resume(after:to:context:next:)`` decides what follows.
    /// - Throws: An error for the outer gates. Before the gate throws, it must end the response.
    func after(_ response: Response, to request: Request, context: Context) throws -> Bool

    /// Decides what follows an error, or a response that ``after(_:to:context:)`` did not pass on.
    /// - Parameters:
    ///   - result: The error or the response.
    ///   - request: The request.
    ///   - context: The environment of the request.
    ///   - next: The rest of the chain, which may be run again.
    /// - Returns: The response for the outer gates.
    /// - Throws: The error for the outer gates.
    func resume(
        after result: Result<Response, any Error>, to request: Request, context: Context, next: Next
    ) async throws -> Response
}

extension PhasedInterceptor {
    /// Does nothing.
    public func before(_ request: Request, context: Context, next: Next) throws -> Context {
        context
    }

    /// Passes the response on.
    public func after(_ response: Response, to request: Request, context: Context) throws -> Bool {
        true
    }

    /// Passes the result on.
    public func resume(
        after result: Result<Response, any Error>, to request: Request, context: Context, next: Next
    ) async throws -> Response { try result.get() }

    /// Runs ``before(_:context:next:)``, the rest of the chain, and the methods for its result.
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
