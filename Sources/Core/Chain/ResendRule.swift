// SPDX-License-Identifier: Apache-2.0

/// Decides whether a request is sent again after its kept-alive connection ended before an answer
/// (``TransferState/lostReusedConnection``).
///
/// Each context has the rule of the gate that created the context. The rules are used only after a
/// lost connection, and the innermost rule is used first.
enum ResendRule: Sendable {
    /// A retry gate, which may count the second send as an attempt.
    case retried(by: Kept<any RequestRetrier>, Request)
    /// A repeatable request is sent again if this limit immediately has a permit.
    case limited(@Sendable () -> (@Sendable () -> Void)?)
    /// The rules of all outer contexts, stored in a context that has no outer context.
    case several([ResendRule])
}

extension Context {
    var resendRules: [ResendRule] {
        var rules: [ResendRule] = []
        var context: Context? = self
        while let inner = context {
            switch inner.resendRule {
            case .several(let outer): rules += outer
            case let rule?: rules.append(rule)
            case nil: break
            }
            context = inner.outer
        }
        return rules
    }

    /// The limits for the second send, outermost first, or nil if a retry gate decides.
    var resendLimits: [@Sendable () -> (@Sendable () -> Void)?]? {
        var limits: [@Sendable () -> (@Sendable () -> Void)?] = []
        for rule in resendRules {
            switch rule {
            case .retried(let retrier, let request):
                if retrier.value.decidesResend(of: request) { return nil }
            case .limited(let limit): limits.insert(limit, at: 0)
            case .several: break
            }
        }
        return limits
    }

    /// Returns a context in which the framework repeats a request only if a limit has a permit.
    ///
    /// A gate that counts sends passes the context to the inner gates. If a kept-alive connection
    /// ends before an answer, the framework calls `limit`. If a retry gate decides instead
    /// (``RequestRetrier/decidesResend(of:)``), the repeated request passes through the gate.
    /// - Parameter limit: Takes an available permit. Returns a closure that gives back the permit,
    ///   or nil if no permit is available. If an inner limit has no permit, nothing is sent, and
    ///   the framework returns the permit.
    /// - Returns: The context to pass to `next`.
    public func asking(beforeResend limit: @escaping @Sendable () -> (@Sendable () -> Void)?)
        -> Context
    {
        resendLimits == nil ? self : child(resendRule: .limited(limit))
    }

    /// The number of kept-alive connections that ended during a request of the call, before an
    /// answer (``TransferState/lostReusedConnection``).
    public var lostConnections: Int { call.record.lostConnections }
}
