public import TurnpikeCore

/// Gives requests that are not idempotent a key by which their server knows a repetition.
///
/// Place it outside a ``Retry``: with the key POST and PATCH may be sent again, which a retry
/// outside of this gate does not see. The key is a random UUID, made once in a call and the same in
/// all its attempts, wherever the gate stands; one that the caller set stays.
///
/// Only use it with servers that honour the key: others apply a repeated request twice.
public struct IdempotencyKey: SynchronousRequestAdapter {
    private enum Key: ContextKey {
        static let defaultValue: String? = nil
    }

    private let header: HTTPHeaders.Name
    private let methods: Set<HTTPMethod>

    /// Creates a gate that sets keys.
    /// - Parameters:
    ///   - header: The header field that carries the key.
    ///   - methods: The methods that get one.
    public init(
        header: HTTPHeaders.Name = .idempotencyKey, methods: Set<HTTPMethod> = [.post, .patch]
    ) {
        self.header = header
        self.methods = methods
    }

    /// Sets the key where there is none.
    public func adapt(_ request: inout Request, context: Context) {
        guard methods.contains(request.method) else { return }
        request.headers.setIfAbsent(
            header, context.value(of: Key.self) { context.random.uuid() })
        // The field may have another name than the one a retry looks for. What the caller says of
        // this call counts more than what the key would allow.
        if request.options[RetryableOption.self] == nil { request.options.isRetryable = true }
    }
}

extension Gate where Self == IdempotencyKey {
    /// Sets idempotency keys; see ``IdempotencyKey/init(header:methods:)``.
    public static func idempotencyKey(
        header: HTTPHeaders.Name = .idempotencyKey, methods: Set<HTTPMethod> = [.post, .patch]
    ) -> Self {
        IdempotencyKey(header: header, methods: methods)
    }
}
