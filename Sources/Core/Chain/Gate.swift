/// One part of a stack: an ``Interceptor``, or one or several of the five roles.
///
/// A gate that is nothing but a `Gate` is a mistake, and fails the calls that come to it as
/// ``ClientError/Code/configuration``.
///
/// A gate is a value that many calls pass at once. What it remembers between calls stands in a
/// `Mutex` or an actor that it holds.
public protocol Gate: Sendable {
    /// What logs, stack descriptions and errors call the gate; its type's name by default.
    var name: String { get }

    /// What tells this gate from others of its type, so that its state survives a reload of the
    /// stack; nil by default: name and position tell.
    var id: String? { get }

    /// What the transport must be able to do for this gate; nothing by default.
    var requirements: TransportCapabilities { get }

    /// The keys of request options that this gate reads; none by default.
    var handledOptions: [any RequestOptionKey.Type] { get }

    /// Ends what the gate does beyond single calls: flushes a log, closes a file.
    ///
    /// Called by ``Client/shutdown(grace:)`` after the last call.
    func shutdown() async
}

extension Gate {
    /// The type's name.
    public var name: String { String(describing: Self.self) }
    /// None.
    public var id: String? { nil }
    /// Nothing.
    public var requirements: TransportCapabilities { [] }
    /// None.
    public var handledOptions: [any RequestOptionKey.Type] { [] }
    /// Does nothing.
    public func shutdown() async {}
}

/// A gate that wraps the rest of the chain.
///
/// ```swift
/// struct Mirror: Interceptor {
///     let fallback: URL
///     func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
///         do { return try await next(request) } catch ClientError.Code.connection {
///             var second = request
///             second.url = fallback
///             return try await next.attempt(second)
///         }
///     }
/// }
/// ```
///
/// It may call `next` not at all, once, or several times. What it throws reaches the caller
/// unchanged. A response that it does not return is to be given to
/// ``Response/discard(in:keeping:)``.
public protocol Interceptor: Gate {
    /// Handles a request.
    /// - Parameters:
    ///   - request: The request as the gates outside left it.
    ///   - context: What surrounds it.
    ///   - next: The rest of the chain.
    /// - Returns: The response for the gates outside.
    /// - Throws: Anything; it reaches the caller unchanged.
    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response
}
