// SPDX-License-Identifier: Apache-2.0
import Configuration
import Foundation
import Logging
import Metrics
import ServiceLifecycle
import Turnpike
import TurnpikeAuthenticationStackFiles
import TurnpikeCacheStackFiles
import TurnpikeConfiguration
import TurnpikeCurlStackFiles
import TurnpikeLifecycle
import TurnpikeLogging
import TurnpikeMetrics
import TurnpikeStackFiles
import TurnpikeTracing
import TurnpikeTrafficStackFiles

/// A client for one upstream.
///
/// Its stack follows the configuration, and it ends with the service.
struct UpstreamClient {
    private let reloading: ReloadingClient

    var client: Client { reloading.client }

    /// The services that follow the configuration and end the client.
    var services: [any Service] {
        [Following(reloading: reloading), ClientService(client, grace: .seconds(5))]
    }

    init(
        of url: URL, _ providers: [any ConfigProvider], recorder: MetricsSystemRecorder,
        logger: Logger
    ) throws {
        // The file cannot contain these values, because the system chooses the upstream's port.
        let places: [AbsoluteConfigKey: String] = [
            "client.baseURL": "\(url)", "client.gate.bearer.refreshURL": "\(url)token",
        ]
        let here = InMemoryProvider(
            values: places.mapValues { ConfigValue(.string($0), isSecret: false) })
        let config = ConfigReader(providers: [here] + providers).scoped(to: "client")
        reloading = try ReloadingClient(config, registry: Self.registry(recorder)) { result in
            var outcome = "done"
            if case .failure(let error) = result {
                outcome = "failed"
                logger.error("The old stack stays in use", metadata: ["error": "\(error)"])
            }
            Counter(label: "config.reloads", dimensions: [("outcome", outcome)]).increment()
        }
    }

    /// The gates that the configuration may list: those of Turnpike and of its plugins.
    private static func registry(_ recorder: MetricsSystemRecorder) -> Registry {
        var registry = Registry.standard
        registry.registerAuthentication()
        registry.registerCurl()
        registry.registerCache()
        registry.registerTraffic()
        registry.registerTracing()
        // Replaces these two, so that the clients use the same log and metrics as the server.
        registry.register(gate: "log") { _ in LoggerSink() }
        registry.register(gate: "metrics") { _ in recorder }
        return registry
    }

    private struct Following: Service {
        let reloading: ReloadingClient

        func run() async throws {
            try await cancelWhenGracefulShutdown { try await reloading.run() }
        }
    }
}
