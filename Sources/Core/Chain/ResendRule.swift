// SPDX-License-Identifier: Apache-2.0

/// Decides whether a request is sent once more if its kept-alive connection ended before an answer
/// (``TransferState/lostReusedConnection``).
enum ResendRule: Sendable {
    /// An outer retry, which counts it as one of its attempts.
    case retried
    /// No gate does: a repeatable request is sent once more where these limits, outermost first,
    /// have a permit for it at once.
    case ownOnce([@Sendable () -> (@Sendable () -> Void)?])
}

extension Context {
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
        guard case .ownOnce(let limits) = resendRule else { return self }
        return child(resendRule: .ownOnce(limits + [limit]))
    }

    /// How many kept-alive connections ended under a request of the call before an answer
    /// (``TransferState/lostReusedConnection``).
    public var lostConnections: Int { call.record.lostConnections }
}
