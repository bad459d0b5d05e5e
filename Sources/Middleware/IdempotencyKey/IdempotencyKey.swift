// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Adds a key by which a server recognizes a repetition of a request that is not idempotent.
///
/// Place this gate outside a ``Retry``. With the key, an inner retry gate may send POST and PATCH
/// again. An outer retry gate does not see the key. The key is a random UUID. All attempts of a
/// call have the same key, even if the gate is inside the retry gate. The gate does not replace a
/// key that the caller has set.
///
/// Use this gate only with servers that support the key, because other servers perform a repeated
/// request twice.
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
            "adds a key, so that the server recognizes a repeated request",
            .identifiesRepetition, .setsFields([header], .plain),
            passedOver: isMet ? nil : "\(request?.method.description ?? "") gets no key")
    }

    /// Sets the key if the request has no key.
    public func adapt(_ request: inout Request, context: Context) {
        guard methods.contains(request.method) else { return }
        request.headers.setIfAbsent(
            header, context.value(of: Key.self) { context.random.uuid() })
        // The option is set because ``Retry`` looks only for a field with the standard name. If the
        // caller has set the option for this call, the gate does not change the option.
        if request.options[RetryableOption.self] == nil {
            request.options.isRetryable = true
            request.options[RepeatableByKey.self] = true
        }
    }
}

/// Whether only the key permits another send of the request.
///
/// If ``Redirect`` removes the key, ``Redirect`` also removes the permission.
enum RepeatableByKey: RequestOptionKey {
    typealias Value = Bool
}

extension Gate where Self == IdempotencyKey {
    /// Sets idempotency keys; see ``IdempotencyKey/init(header:methods:)``.
    public static func idempotencyKey(
        header: HTTPHeaders.Name = .idempotencyKey, methods: Set<HTTPMethod> = [.post, .patch]
    ) -> Self {
        IdempotencyKey(header: header, methods: methods)
    }
}
