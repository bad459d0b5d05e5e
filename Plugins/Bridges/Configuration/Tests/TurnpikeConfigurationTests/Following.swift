// SPDX-License-Identifier: Apache-2.0

// What the README shows. The module comes with swift-configuration, whose trait needs it.
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
