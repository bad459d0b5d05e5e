// SPDX-License-Identifier: Apache-2.0

// The example of the README. The module comes with swift-configuration, whose trait needs it.
#if canImport(ServiceLifecycle)
import ServiceLifecycle
import TurnpikeConfiguration

struct Following: Service {
    let users: ReloadingClient

    func run() async throws {
        try await cancelWhenGracefulShutdown { try await users.run() }
    }
}
#endif
