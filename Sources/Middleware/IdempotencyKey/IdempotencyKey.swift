// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Adds a key to requests that are not idempotent, so that a server recognizes a repetition.
///
/// Place it outside a ``Retry``. With the key, POST and PATCH may be sent again, but a retry
/// outside of this gate does not see the key. The key is a random UUID. All attempts of a call have
/// the same key, at any place of the gate. A key that the caller has set stays.
///
/// Use it only with servers that honour the key; other servers perform a repeated request twice.
public struct IdempotencyKey: SynchronousRequestAdapter {
    private enum Key: ContextKey {
        static let defaultValue: String? = nil
    }

    private let header: HTTPHeaders.Name
    private let methods: Set<HTTPMethod>

    /// Creates a gate that sets keys.
    /// - Parameters:
    ///   - header: The header field that carries the key.
    ///   - methods: The methods that get a key.
    public init(
        header: HTTPHeaders.Name = .idempotencyKey, methods: Set<HTTPMethod> = [.post, .patch]
    ) {
        self.header = header
        self.methods = methods
    }

    /// States the field by which a server recognizes a repetition.
    public func facts(for request: Request?) -> GateFacts? {
        let isMet = request.map { methods.contains($0.method) } ?? true
        return GateFacts(
            "gives a call a key by which the server recognizes a repetition",
            .identifiesRepetition, .setsFields([header], .plain),
            passedOver: isMet ? nil : "\(request?.method.description ?? "") gets no key")
    }

    /// Sets the key if the request has none.
    public func adapt(_ request: inout Request, context: Context) {
        guard methods.contains(request.method) else { return }
        request.headers.setIfAbsent(
            header, context.value(of: Key.self) { context.random.uuid() })
        // The field may have another name than the field that a retry looks for. An option that the
        // caller has set for this call takes precedence over the key.
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
