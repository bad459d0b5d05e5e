// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// The labels of a series: attributes of OpenTelemetry's semantic conventions for HTTP clients.
public struct MetricLabels: Sendable, Hashable {
    struct Server {
        let address: String
        let port: Int
    }

    /// The attribute `http.request.method`; `_OTHER` for a method that is not registered.
    public let method: String
    /// The attribute `server.address`; `_OTHER` for servers beyond a store's `maxServers`.
    public let address: String
    /// The attribute `server.port`; nil for servers beyond a store's `maxServers`.
    public let port: Int?
    /// The attribute `http.response.status_code`.
    public let status: Int?
    /// The attribute `error.type`.
    public let errorType: String?
    /// The attribute `network.protocol.version`.
    public let version: String?

    /// The attributes that have a value, in OpenTelemetry's names and order.
    public var attributes: [(name: String, value: String)] {
        let values = [
            method, address, port.map(String.init), status.map(String.init), errorType, version,
        ]
        return zip(Self.names, values).compactMap { name, value in value.map { (name, $0) } }
    }

    /// OpenTelemetry's names of the attributes, in order.
    public static let names = [
        "http.request.method", "server.address", "server.port", "http.response.status_code",
        "error.type", "network.protocol.version",
    ]

    /// The labels of a measurement, for custom recorders, which must bound the number of servers
    /// themselves (``amongOtherServers``) and the number of series (``overflow``).
    public init(_ measurement: CallMeasurement) {
        self.init(
            measurement,
            server: measurement.origin.map { Server(address: $0.host, port: $0.port) })
    }

    /// The labels of a pass under way: its method and its server.
    public init(method: HTTPMethod, origin: Origin?) {
        self.init(
            method: method, server: origin.map { Server(address: $0.host, port: $0.port) })
    }

    /// The same labels without the server, whose address becomes `_OTHER`.
    public var amongOtherServers: MetricLabels {
        MetricLabels(
            method: method, server: nil, status: status, errorType: errorType, version: version)
    }

    init(_ measurement: CallMeasurement, server: Server?) {
        self.init(
            method: Self.method(measurement.method), server: server,
            status: measurement.status?.code, errorType: measurement.errorType,
            version: measurement.version)
    }

    init(method: HTTPMethod, server: Server?) {
        self.init(
            method: Self.method(method), server: server, status: nil, errorType: nil, version: nil)
    }

    /// The labels of all series beyond a store's `maxSeries`: method and address are `_OTHER`.
    public static let overflow = MetricLabels(
        method: other, server: nil, status: nil, errorType: nil, version: nil)

    private init(
        method: String, server: Server?, status: Int?, errorType: String?, version: String?
    ) {
        self.method = method
        address = server?.address ?? Self.other
        port = server?.port
        self.status = status
        self.errorType = errorType
        self.version = version
    }

    private static let other = "_OTHER"

    // The methods that the conventions name; no other method becomes a label.
    private static func method(_ method: HTTPMethod) -> String {
        switch method {
        case .get, .head, .post, .put, .patch, .delete, .options, .trace, .connect, .query:
            method.rawValue
        default: other
        }
    }
}
