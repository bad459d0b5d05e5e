// SPDX-License-Identifier: Apache-2.0

/// Decides whether a request is sent once more if its kept-alive connection ended before an answer
/// (``TransferState/lostReusedConnection``).
///
/// Each context has the rule of the gate that created it. Only a lost connection needs the rules;
/// the innermost rule is asked first.
enum ResendRule: Sendable {
    /// A retry, which may count the second send as one of its attempts.
    case retried(by: Kept<any RequestRetrier>, Request)
    /// A repeatable request is sent once more if this limit has a permit for it at once.
    case limited(@Sendable () -> (@Sendable () -> Void)?)
    /// The rules of outer contexts, for a context without outer contexts.
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

    /// The limits to ask before the second send, outermost first; nil if a retry decides.
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
    /// A gate that counts sends passes the context to the rest of the chain. If a kept-alive
    /// connection ends before an answer, the framework calls `limit`. If a retry decides instead
    /// (``RequestRetrier/decidesResend(of:)``), the request passes the gate again.
    /// - Parameter limit: Takes an available permit and returns a closure that gives the permit
    ///   back; returns nil if no permit is available. If an inner limit has no permit, nothing is
    ///   sent and the permit is given back.
    /// - Returns: The context to pass to `next`.
    public func asking(beforeResend limit: @escaping @Sendable () -> (@Sendable () -> Void)?)
        -> Context
    {
        resendLimits == nil ? self : child(resendRule: .limited(limit))
    }

    /// How many kept-alive connections of the call ended during a request, before an answer
    /// (``TransferState/lostReusedConnection``).
    public var lostConnections: Int { call.record.lostConnections }
}
