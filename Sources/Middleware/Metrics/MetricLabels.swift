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

    /// The labels of the series beyond a store's `maxSeries`: method and address are `_OTHER`.
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

/// The names of metrics or labels in Prometheus, which allows fewer characters than OpenTelemetry.
///
/// All names differ: a name that would equal an earlier one gets a number (`a_b`, `a_b_2`). A name
/// does not change later.
struct PrometheusNames {
    private let others: Set<Unicode.Scalar>
    private var names: [Key: String] = [:]
    private var taken: Set<String>

    // Compares bytes, as Prometheus does: two names may look the same and still differ.
    private struct Key: Hashable {
        let bytes: [UInt8]
        let suffix: String
    }

    /// Names of metrics: letters, digits, underscores and colons, no digit first.
    /// - Parameter taken: The names that are in use already.
    /// - Returns: A table that avoids those names.
    static func metrics(taken: Set<String>) -> Self { Self(others: ["_", ":"], taken: taken) }

    /// Names of labels: letters, digits and underscores, with no digit first, and without two
    /// leading underscores, which Prometheus reserves.
    /// - Parameter first: The labels that are named first; their names get no number.
    /// - Returns: A table with the names of those labels.
    static func labels(first: [String]) -> Self {
        var names = Self(others: ["_"], taken: ["le"])
        for name in first { _ = names.name(for: name) }
        return names
    }

    private init(others: Set<Unicode.Scalar>, taken: Set<String>) {
        self.others = others
        self.taken = taken
    }

    /// The name in Prometheus.
    /// - Parameters:
    ///   - name: The name in OpenTelemetry.
    ///   - suffix: The suffix that the name in Prometheus must have.
    ///   - endings: Endings of the name that make further names, which are reserved too.
    /// - Returns: The name, which no other metric or label has.
    mutating func name(
        for name: String, endingIn suffix: String = "", reserving endings: [String] = []
    ) -> String {
        let key = Key(bytes: Array(name.utf8), suffix: suffix)
        if let known = names[key] { return known }
        var plain = Self.plain(name, allowing: others)
        if plain.hasSuffix(suffix) { plain.removeLast(suffix.count) }
        var result = plain + suffix
        var number = 1
        while ([""] + endings).contains(where: { taken.contains(result + $0) }) {
            number += 1
            result = "\(plain)_\(number)\(suffix)"
        }
        for ending in [""] + endings { taken.insert(result + ending) }
        names[key] = result
        return result
    }

    private static func plain(_ name: String, allowing others: Set<Unicode.Scalar>) -> String {
        var result = ""
        for scalar in name.unicodeScalars {
            switch scalar {
            case "a"..."z", "A"..."Z": result.unicodeScalars.append(scalar)
            case "0"..."9":
                if result.isEmpty { result = "_" }
                result.unicodeScalars.append(scalar)
            default:
                let isOwn = others.contains(scalar)
                // Two leading underscores are reserved.
                if result == "_", !isOwn || scalar == "_" { continue }
                result.unicodeScalars.append(isOwn ? scalar : "_")
            }
        }
        return result.isEmpty ? "_" : result
    }
}
