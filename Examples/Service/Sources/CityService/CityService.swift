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
/// Read `main` from above: what reports, what is configured, whom is asked, who answers, and in
/// which order all of it starts and ends.
@main
struct CityService {
    static func main() async throws {
        // Three systems, each bootstrapped once. The server, the clients and their bridges report to
        // them, and know nothing of what is behind.
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

        // The environment stands above the file: HTTP_PORT is above http.port. The file is read again
        // on SIGHUP; one that comes too early must not end the process.
        signal(SIGHUP, SIG_IGN)
        let file = try await ReloadingFileProvider<JSONSnapshot>(filePath: .init(configurationPath))
        let providers: [any ConfigProvider] = [EnvironmentVariablesProvider(), file]
        let config = ConfigReader(providers: providers)

        try await withUpstreams(config) { weatherURL, placesURL in
            // One client for each upstream: each has its own circuit, limits and token. They share
            // a recorder, because its figures have the server as a label.
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

            // They start in this order and end in the reverse one. So on SIGTERM the server ends
            // first: it takes no more connections, and answers what it has. The clients, which
            // these answers need, end after it.
            var lifecycle = ServiceGroupConfiguration(
                services: [file] + weather.services + places.services + [server],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
            // A caller that does not read its answer must not hold up the end.
            lifecycle.maximumGracefulShutdownDuration = .seconds(25)
            try await ServiceGroup(configuration: lifecycle).run()
        }
        print("answered \(Int(figures.total("hb_requests_total"))) requests")
    }

    private static func router(
        _ cities: Cities, _ figures: Prometheus, _ spans: SpanStore
    ) -> Router<BasicRequestContext> {
        let router = Router()
        // The span is outermost, so that lines of the log have the ID of the trace. The server has
        // bound a logger with the ID of the request to the task; the clients log through it.
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

    /// The file that the environment names, or that of the example.
    private static var configurationPath: String {
        let example = URL(filePath: #filePath).resolvingSymlinksInPath()
            .appending(path: "../../../service.json")
        return ProcessInfo.processInfo.environment["SERVICE_CONFIG"]
            ?? example.standardizedFileURL.path(percentEncoded: false)
    }
}

extension SpanStore.Row: ResponseEncodable {}
