// SPDX-License-Identifier: Apache-2.0

/// A part of the decision whether a request is sent once more if its kept-alive connection ended before
/// an answer (``TransferState/lostReusedConnection``).
///
/// Each context has the part of the gate that created it. They are asked from the inside outwards, and
/// only when a connection is lost.
enum ResendRule: Sendable {
    /// A retry, which may count it as one of its attempts at a request.
    case retried(by: Kept<any RequestRetrier>, Request)
    /// A repeatable request is sent once more if this limit has a permit for it at once.
    case limited(@Sendable () -> (@Sendable () -> Void)?)
    /// Those of outer contexts, for a context without them.
    case several([ResendRule])
}

extension Context {
    /// The rules that apply here, innermost first.
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

    /// The limits to ask before a request is sent once more, outermost first; nil if a retry decides about it.
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

    /// Returns a context for the rest of the chain in which a limit must have a permit before the
    /// framework repeats a request, because its kept-alive connection ended before an answer.
    ///
    /// A gate that counts sends uses it. If a retry decides about such requests
    /// (``RequestRetrier/decidesResend(of:)``), `limit` is not called, because the request passes
    /// the gate again.
    /// - Parameter limit: Takes a permit if there is one at once, and returns what gives it back; nil if
    ///   there is none. The permit is returned if an inner limit has none, so that nothing is sent.
    /// - Returns: The context to pass to `next`.
    public func asking(beforeResend limit: @escaping @Sendable () -> (@Sendable () -> Void)?)
        -> Context
    {
        resendLimits == nil ? self : child(resendRule: .limited(limit))
    }

    /// How many kept-alive connections ended under a request of the call before an answer
    /// (``TransferState/lostReusedConnection``).
    public var lostConnections: Int { call.record.lostConnections }
}
