import Synchronization
import TurnpikeCore

/// Measurements in memory: histograms by bounded labels, and the calls under way.
///
/// What a peer or a path says never becomes a label of its own: methods that are not registered
/// count as `_OTHER`, and beyond a number of servers or series the rest is counted together as
/// `other`.
public final class MetricsStore: Sendable {
    /// What a series is about: the attributes of OpenTelemetry.
    public struct Labels: Sendable, Hashable {
        /// The attribute `http.request.method`.
        public let method: String
        /// The attribute `server.address`.
        public let address: String
        /// The attribute `server.port`.
        public let port: Int
        /// The attribute `http.response.status_code`.
        public let status: Int?
        /// The attribute `error.type`.
        public let errorType: String?
        /// The attribute `network.protocol.version`.
        public let version: String?
    }

    /// One series.
    public struct Series: Sendable, Hashable {
        /// `http.client.request.duration`, in seconds.
        public internal(set) var duration = Histogram(bounds: Histogram.durationBounds)
        /// `http.client.request.body.size`, in bytes.
        public internal(set) var requestBodySize = Histogram(bounds: Histogram.sizeBounds)
        /// `http.client.response.body.size`, in bytes.
        public internal(set) var responseBodySize = Histogram(bounds: Histogram.sizeBounds)
        /// The sends that repeated an earlier one of the same call.
        public internal(set) var resends = 0
    }

    private struct State {
        var series: [Labels: Series] = [:]
        var servers: Set<String> = []
        var active: [String: Int] = [:]
    }

    private let state = Mutex(State())
    private let maxServers: Int
    private let maxSeries: Int

    /// Creates an empty store.
    /// - Parameters:
    ///   - maxServers: How many servers have labels of their own.
    ///   - maxSeries: How many series there are.
    public init(maxServers: Int = 100, maxSeries: Int = 1000) {
        self.maxServers = maxServers
        self.maxSeries = maxSeries
    }

    /// The series by their labels.
    public var series: [Labels: Series] { state.withLock { $0.series } }

    /// The passes under way, by server (`http.client.active_requests`).
    public var active: [String: Int] { state.withLock { $0.active.filter { $0.value != 0 } } }

    func begin(_ request: Request) {
        let origin = request.origin
        state.withLock { state in
            let (address, port) = server(origin, &state)
            state.active["\(address):\(port)", default: 0] += 1
        }
    }

    func record(_ measurement: CallMeasurement) {
        state.withLock { state in
            let (address, port) = server(measurement.origin, &state)
            state.active["\(address):\(port)", default: 0] -= 1
            var labels = Labels(
                method: Self.method(measurement.method), address: address, port: port,
                status: measurement.status?.code, errorType: measurement.errorType,
                version: measurement.version)
            if state.series[labels] == nil, state.series.count >= maxSeries {
                labels = Labels(
                    method: "_OTHER", address: "other", port: 0, status: nil, errorType: nil,
                    version: nil)
            }
            var series = state.series[labels] ?? Series()
            series.duration.add(measurement.duration.inSeconds)
            if let size = measurement.requestBodyBytes, size > 0 {
                series.requestBodySize.add(Double(size))
            }
            series.responseBodySize.add(Double(measurement.responseBodyBytes))
            series.resends += measurement.resendCount > 0 ? 1 : 0
            state.series[labels] = series
        }
    }

    private func server(_ origin: Origin?, _ state: inout State) -> (String, Int) {
        guard let origin else { return ("other", 0) }
        let key = "\(origin.host):\(origin.port)"
        if state.servers.contains(key) { return (origin.host, origin.port) }
        guard state.servers.count < maxServers else { return ("other", 0) }
        state.servers.insert(key)
        return (origin.host, origin.port)
    }

    private static func method(_ method: HTTPMethod) -> String {
        switch method {
        case .get, .head, .post, .put, .patch, .delete, .options, .trace, .connect, .query:
            method.rawValue
        default: "_OTHER"
        }
    }
}
