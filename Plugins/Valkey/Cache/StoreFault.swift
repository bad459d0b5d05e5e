// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// What is wrong with a server.
enum StoreFault {
    /// The server is not asked at the moment.
    static let away = ClientError(
        .connection, "the cache's server is away, and is not asked for a moment")

    /// Whether an error concerns one key, and not the server.
    static func isOfOneKey(_ error: any Error) -> Bool {
        (error as? ClientError)?.message.contains("WRONGTYPE") ?? false
    }
}
