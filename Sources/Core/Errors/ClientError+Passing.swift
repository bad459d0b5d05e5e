// SPDX-License-Identifier: Apache-2.0

extension ClientError {
    /// Whether the error may be transient: the network failed or was too slow.
    package var isPassing: Bool {
        if let proxyStatus { return Self.passingStatuses.contains(proxyStatus) }
        return Self.passingCodes.contains(code)
    }

    private static let passingCodes: Set<Code> = [
        .connection, .incomplete, .dns, .connectTimeout, .attemptTimeout, .idleTimeout,
    ]
    private static let passingStatuses: Set<HTTPStatus> = [408, 425, 429, 500, 502, 503, 504]
}
