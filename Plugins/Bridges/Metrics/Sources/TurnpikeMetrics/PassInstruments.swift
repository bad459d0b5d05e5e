// SPDX-License-Identifier: Apache-2.0

import CoreMetrics
import TurnpikeEssentials

struct PassInstruments {
    struct Series {
        let duration: any TimerHandler
        // The instruments are created at the first use, to avoid empty histograms in a back end.
        var responseSize: (any RecorderHandler)?
        var requestSize: (any RecorderHandler)?
        var resends: (any CounterHandler)?
    }

    private struct Server: Hashable {
        let address: String
        let port: Int
    }

    private let factory: any MetricsFactory
    private let maxServers: Int
    private let maxSeries: Int
    private var servers: Set<Server> = []
    private var series: [MetricLabels: Series] = [:]
    private var active: [MetricLabels: any MeterHandler] = [:]

    static let names: Set = [
        "http.client.active_requests", "http.client.request.duration",
        "http.client.request.body.size", "http.client.response.body.size",
        "http.client.request.resends",
    ]

    private static let activeDimensions = ["http.request.method", "server.address", "server.port"]

    init(factory: any MetricsFactory, maxServers: Int, maxSeries: Int) {
        self.factory = factory
        self.maxServers = maxServers
        self.maxSeries = maxSeries
    }

    /// Returns the meter of running requests for a method and a server.
    ///
    /// A server beyond the limit at the begin of a request is also beyond the limit at the end.
    /// Each request is therefore subtracted from the meter to which the request was added.
    mutating func active(_ method: HTTPMethod, _ origin: Origin?) -> any MeterHandler {
        let labels = bounded(MetricLabels(method: method, origin: origin), origin)
        if let known = active[labels] { return known }
        let made = factory.makeMeter(
            label: "http.client.active_requests",
            dimensions: Self.dimensions(of: labels, Self.activeDimensions))
        active[labels] = made
        return made
    }

    mutating func series(of measurement: CallMeasurement) -> Series {
        var labels = bounded(MetricLabels(measurement), measurement.origin)
        if series[labels] == nil, series.count >= maxSeries { labels = .overflow }
        var found = series[labels] ?? made(for: labels)
        let needsResponseSize = measurement.responseBodyBytes != nil && found.responseSize == nil
        let needsRequestSize = (measurement.requestBodyBytes ?? 0) > 0 && found.requestSize == nil
        let needsResends = measurement.resends > 0 && found.resends == nil
        if needsResponseSize || needsRequestSize || needsResends {
            let dimensions = Self.dimensions(of: labels, MetricLabels.names)
            if needsResponseSize {
                found.responseSize = factory.makeRecorder(
                    label: "http.client.response.body.size", dimensions: dimensions,
                    aggregate: true)
            }
            if needsRequestSize {
                found.requestSize = factory.makeRecorder(
                    label: "http.client.request.body.size", dimensions: dimensions,
                    aggregate: true)
            }
            if needsResends {
                found.resends = factory.makeCounter(
                    label: "http.client.request.resends", dimensions: dimensions)
            }
            series[labels] = found
        }
        return found
    }

    private mutating func made(for labels: MetricLabels) -> Series {
        let dimensions = Self.dimensions(of: labels, MetricLabels.names)
        let duration = factory.makeTimer(
            label: "http.client.request.duration", dimensions: dimensions)
        duration.preferDisplayUnit(.seconds)
        let made = Series(duration: duration)
        series[labels] = made
        return made
    }

    private mutating func bounded(_ labels: MetricLabels, _ origin: Origin?) -> MetricLabels {
        guard let origin else { return labels }
        let server = Server(address: origin.host, port: origin.port)
        if servers.contains(server) { return labels }
        guard servers.count < maxServers else { return labels.amongOtherServers }
        servers.insert(server)
        return labels
    }

    private static func dimensions(
        of labels: MetricLabels, _ names: [String]
    ) -> [(String, String)] {
        let attributes = labels.attributes
        return names.map { name in
            (name, attributes.first { $0.name == name }?.value ?? "")
        }
    }
}
