// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// A verdict about the server's health, from the outcome of a call.
public enum CircuitVerdict: Hashable, Sendable {
    /// The server works.
    case success
    /// The server fails.
    case failure
    /// The outcome says nothing about the server: a cancellation, a deadline of the caller, or a
    /// fault of the request.
    case ignored

    /// The default rule: a status from 500 on is a failure, and any other status is a success.
    ///
    /// Errors of the network, of the protocol and of time limits for attempts are failures; all
    /// other errors are ignored. A response that a validator refused is judged by its status. If a
    /// proxy does not connect, a status from 500 on is a failure, and any other status is ignored.
    /// If a reused connection ended before an answer, the outcome is ignored
    /// (``/TurnpikeCore/TransferState/lostReusedConnection``).
    public static func standard(_ outcome: Outcome) -> CircuitVerdict {
        if let status = outcome.proxyStatus { return status.code >= 500 ? .failure : .ignored }
        if let status = outcome.status { return status.code >= 500 ? .failure : .success }
        guard let code = outcome.code, !outcome.hasLostReusedConnection else { return .ignored }
        return failures.contains(code) ? .failure : .ignored
    }

    private static let failures: Set<ClientError.Code> = [
        .connection, .dns, .tls, .connectTimeout, .attemptTimeout, .idleTimeout, .protocol,
        .incomplete, .decompression,
    ]
}
