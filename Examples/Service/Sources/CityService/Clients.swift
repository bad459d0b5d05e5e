import Configuration
import Foundation
import Logging
import Metrics
import ServiceLifecycle
import Turnpike
import TurnpikeCache
import TurnpikeCurl
import TurnpikeLogging
import TurnpikeMetrics
import TurnpikeTracing
import UnixSignals

/// A client for one upstream, whose stack is in a file, and comes from it anew on SIGHUP.
struct UpstreamClient: Service {
    private let configured: ConfiguredClient
    private let stack: URL
    private let url: URL
    private let logger: Logger

    var client: Client { configured.client }

    init(of url: URL, stack: URL, recorder: MetricsSystemRecorder, logger: Logger) throws {
        self.stack = stack
        self.url = url
        self.logger = logger
        configured = try ConfiguredClient(
            Self.file(stack, url), registry: Self.registry(url, recorder), serializers: .standard)
    }

    /// The names that the file may use: those of Turnpike, and a few of this service.
    private static func registry(_ url: URL, _ recorder: MetricsSystemRecorder) -> Registry {
        var registry = Registry.standard
        registry.registerCurl()
        registry.registerCache()
        registry.registerTracing()
        // Replaced, because here logs and figures go where the service's own go.
        registry.register(gate: "log") { _ in LoggerSink() }
        registry.register(gate: "metrics") { _ in recorder }
        // The token belongs to the client, so a reload keeps it. All calls wait for one refresh.
        let endpoint = TokenEndpoint(
            url.appending(path: "token"), clientID: "cities", clientSecret: "open sesame")
        let tokens = BearerTokens(
            provider: ClientCredentialsGrant(endpoint),
            policy: RefreshPolicy(maxRefreshes: 30, leeway: .seconds(1)))
        registry.register(gate: "token") { _ in BearerAuthentication(tokens) }
        return registry
    }

    private static func file(_ stack: URL, _ url: URL) throws -> StackFile {
        try StackFile(
            ["baseURL": .string(url.absoluteString)], over: StackFile(contentsOf: stack))
    }

    /// Reloads the stack on SIGHUP. Calls under way keep the old one; circuits, caches and budgets
    /// keep what they know; a file with a mistake changes nothing.
    func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sighup)
        for await _ in signals.cancelOnGracefulShutdown() {
            do {
                try configured.reload(Self.file(stack, url))
                Counter(label: "config.reloads", dimensions: [("outcome", "done")]).increment()
            } catch {
                logger.error("the old stack stays in force", metadata: ["error": "\(error)"])
                Counter(label: "config.reloads", dimensions: [("outcome", "failed")]).increment()
            }
        }
    }
}
