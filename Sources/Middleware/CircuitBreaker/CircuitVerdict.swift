public import TurnpikeCore

/// What the outcome of a call says of the server's health.
public enum CircuitVerdict: Hashable, Sendable {
    /// The server does its work.
    case success
    /// The server is ill.
    case failure
    /// It says nothing of the server: a cancellation, a deadline of the caller's, a fault of the
    /// request.
    case ignored

    /// The default rule: a status from 500 on fails, any other succeeds; errors of the network, of
    /// the protocol and of time limits for attempts fail; everything else is ignored.
    ///
    /// A response that a validator refused is judged by its status; so is the answer of a proxy that
    /// does not connect, except that a 4xx says nothing of the server.
    public static func standard(_ outcome: Outcome) -> CircuitVerdict {
        if let status = outcome.proxyStatus { return status.code >= 500 ? .failure : .ignored }
        if let status = outcome.status { return status.code >= 500 ? .failure : .success }
        guard let code = outcome.code else { return .ignored }
        return failures.contains(code) ? .failure : .ignored
    }

    private static let failures: Set<ClientError.Code> = [
        .connection, .dns, .tls, .connectTimeout, .attemptTimeout, .idleTimeout, .protocol,
        .incomplete, .decompression,
    ]
}
