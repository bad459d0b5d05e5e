// SPDX-License-Identifier: Apache-2.0
import Configuration
import Foundation
import Hummingbird
import InMemoryTracing
import Logging
import Metrics
import ServiceLifecycle
import Tracing
import TurnpikeInspection
import TurnpikeMetrics

/// A service that answers `/cities/:name` by asking two slow and flaky upstreams.
///
/// Read `main` from the top: the reporting systems, the configuration, the upstreams, the server,
/// and the order in which all of these start and end.
@main
struct CityService {
    static func main() async throws {
        // These three systems are each bootstrapped once. The server, the clients and their bridges
        // report to them without knowing the back ends.
        let figures = Prometheus()
        let spans = SpanStore(capacity: 20_000)
        LoggingSystem.bootstrap(
            { StreamLogHandler.standardError(label: $0, metadataProvider: $1) },
            metadataProvider: Logger.MetadataProvider {
                guard let span = ServiceContext.current?.inMemorySpanContext else { return [:] }
                return ["trace.id": "\(span.traceID)"]
            })
        MetricsSystem.bootstrap(figures)
        InstrumentationSystem.bootstrap(spans)
        let logger = Logger(label: "cities")

        // The environment overrides the file: HTTP_PORT overrides http.port. SIGHUP reads the file
        // again. A signal that comes too early must not end the process.
        signal(SIGHUP, SIG_IGN)
        let file = try await ReloadingFileProvider<JSONSnapshot>(filePath: .init(configurationPath))
        let providers: [any ConfigProvider] = [EnvironmentVariablesProvider(), file]
        let config = ConfigReader(providers: providers)

        try await withUpstreams(config) { weatherURL, placesURL in
            // One client for each upstream, so that each has its own circuit, limits and token.
            // They share a recorder, because its figures have the server as a label.
            let recorder = MetricsSystemRecorder()
            let weather = try UpstreamClient(
                of: weatherURL, providers, recorder: recorder, logger: logger)
            let places = try UpstreamClient(
                of: placesURL, providers, recorder: recorder, logger: logger)

            // Where STATUS_SOCKET says, `turnpike status` shows why calls fail.
            let status = try config.string(forKey: "status.socket").map {
                try StatusSocket(at: $0, of: weather.client, places.client)
            }
            defer { status?.close() }

            let cities = Cities(weather: weather.client, places: places.client)
            let server = Application(
                router: router(cities, figures, spans),
                configuration: ApplicationConfiguration(reader: config.scoped(to: "http")),
                onServerRunning: { channel in
                    print("try \(channel.loopback)cities/vienna")
                    print("and \(channel.loopback)metrics")
                    fflush(nil)
                },
                logger: logger)

            // Services start in this order and end in the reverse order. So on SIGTERM, the server
            // ends first: it accepts no more connections and finishes its answers. The clients end
            // after it, because these answers need them.
            var lifecycle = ServiceGroupConfiguration(
                services: [file] + weather.services + places.services + [server],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
            // A caller that does not read its answer must not delay the end.
            lifecycle.maximumGracefulShutdownDuration = .seconds(25)
            try await ServiceGroup(configuration: lifecycle).run()
        }
        print("answered \(Int(figures.total("hb_requests_total"))) requests")
    }

    private static func router(
        _ cities: Cities, _ figures: Prometheus, _ spans: SpanStore
    ) -> Router<BasicRequestContext> {
        let router = Router()
        // The tracing span is outermost, so that log lines have the ID of the trace. The server has
        // bound a logger with the ID of the request to the task. The clients log with it.
        router.add(middleware: TracingMiddleware())
        router.add(middleware: MetricsMiddleware())
        router.add(middleware: LogRequestsMiddleware(.info))
        router.get("/cities/:name") { try await cities.answer($0, $1) }
        router.get("/metrics") { _, _ in figures.text }
        router.get("/traces/:id") { _, context in
            spans.rows(of: try context.parameters.require("id"))
        }
        return router
    }

    /// The configuration file that the environment names, or by default that of the example.
    private static var configurationPath: String {
        let example = URL(filePath: #filePath).resolvingSymlinksInPath()
            .appending(path: "../../../service.json")
        return ProcessInfo.processInfo.environment["SERVICE_CONFIG"]
            ?? example.standardizedFileURL.path(percentEncoded: false)
    }
}

extension SpanStore.Row: ResponseEncodable {}
