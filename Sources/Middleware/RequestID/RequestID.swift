public import TurnpikeCore

/// Gives each call a name that the server's log can show too.
///
/// The name is a random UUID, the same over all attempts and hops of the call wherever the gate
/// stands. One that the caller set stays. Other gates find it under ``Value``.
public struct RequestID: SynchronousRequestAdapter {
    /// The key of the call's name in its context; nil before the gate was passed.
    public enum Value: ContextKey {
        /// None.
        public static let defaultValue: String? = nil
    }

    private let header: HTTPHeaders.Name

    /// Creates a gate that names calls.
    /// - Parameter header: The header field that carries the name.
    public init(header: HTTPHeaders.Name = "X-Request-ID") { self.header = header }

    /// Sets the name where there is none.
    public func adapt(_ request: inout Request, context: Context) {
        if let present = request.headers[header] {
            _ = context.value(of: Value.self) { present }
        } else {
            request.headers[header] = context.value(of: Value.self) { context.random.uuid() }
        }
    }
}

extension Gate where Self == RequestID {
    /// Gives each call a name; see ``RequestID/init(header:)``.
    public static func requestID(header: HTTPHeaders.Name = "X-Request-ID") -> Self {
        RequestID(header: header)
    }
}
