// SPDX-License-Identifier: Apache-2.0

import AsyncHTTPClient
import Synchronization

/// Holds an `HTTPClient`.
///
/// If the transport owns it, it is shut down with the last holder.
final class ClientHolder: Sendable {
    let client: HTTPClient
    private let mustShutDown: Atomic<Bool>

    init(_ client: HTTPClient, isOwned: Bool) {
        self.client = client
        mustShutDown = Atomic(isOwned)
    }

    // async-http-client traps in debug builds if an `HTTPClient` is released without a shutdown.
    deinit {
        if mustShutDown.load(ordering: .acquiring) { client.shutdown { [client] _ in _ = client } }
    }

    func shutdown() async {
        guard mustShutDown.exchange(false, ordering: .acquiringAndReleasing) else { return }
        // The shutdown fails only if the `HTTPClient` was shut down before.
        try? await client.shutdown()
    }
}
