// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// The labels of a series: attributes of OpenTelemetry's semantic conventions for HTTP clients.
public struct MetricLabels: Sendable, Hashable {
    struct Server {
        let address: String
        let port: Int
    }

    /// The attribute `http.request.method`, which is `_OTHER` if the method is not registered.
    public let method: String
    /// The attribute `server.address`, which is `_OTHER` for servers beyond a store's `maxServers`.
    public let address: String
    /// The attribute `server.port`, or nil for servers beyond a store's `maxServers`.
    public let port: Int?
    /// The attribute `http.response.status_code`.
    public let status: Int?
    /// The attribute `error.type`.
    public let errorType: String?
    /// The attribute `network.protocol.version`.
    public let version: String?

    /// The attributes that have a value, in the order of ``names``.
    public var attributes: [(name: String, value: String)] {
        let values = [
            method, address, port.map(String.init), status.map(String.init), errorType, version,
        ]
        return zip(Self.names, values).compactMap { name, value in value.map { (name, $0) } }
    }

    /// The names of the attributes in OpenTelemetry, in order.
    public static let names = [
        "http.request.method", "server.address", "server.port", "http.response.status_code",
        "error.type", "network.protocol.version",
    ]

    /// Creates the labels of a measurement, for a custom recorder.
    ///
    /// A custom recorder must limit the number of servers (``amongOtherServers``) and the number of
    /// series (``overflow``).
    public init(_ measurement: CallMeasurement) {
        self.init(
            measurement,
            server: measurement.origin.map { Server(address: $0.host, port: $0.port) })
    }

    /// Creates the labels of a running request: the method and the server.
    public init(method: HTTPMethod, origin: Origin?) {
        self.init(
            method: method, server: origin.map { Server(address: $0.host, port: $0.port) })
    }

    /// The same labels with the address `_OTHER` in place of the server.
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

    /// The labels for all series beyond a store's `maxSeries`, with `_OTHER` as method and address.
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

    // Only methods that OpenTelemetry names become labels.
    private static func method(_ method: HTTPMethod) -> String {
        switch method {
        case .get, .head, .post, .put, .patch, .delete, .options, .trace, .connect, .query:
            method.rawValue
        default: other
        }
    }
}

/// Translates names of metrics or labels for Prometheus, which allows fewer characters than
/// OpenTelemetry.
///
/// If two translated names are equal, the later name gets a number (`a_b`, `a_b_2`). The translated
/// name of a metric or label never changes.
struct PrometheusNames {
    private let others: Set<Unicode.Scalar>
    private var names: [Key: String] = [:]
    private var taken: Set<String>

    // The key compares bytes, as Prometheus does, because different names may be equal strings.
    private struct Key: Hashable {
        let bytes: [UInt8]
        let suffix: String
    }

    // Names of metrics have letters, digits, underscores and colons, and do not start with a digit.
    // The names in `taken` are already in use.
    static func metrics(taken: Set<String>) -> Self { Self(others: ["_", ":"], taken: taken) }

    // Names of labels have letters, digits and underscores. A label does not start with a digit,
    // nor with two underscores, which Prometheus reserves. The labels in `first` get no number.
    static func labels(first: [String]) -> Self {
        var names = Self(others: ["_"], taken: ["le"])
        for name in first { _ = names.name(for: name) }
        return names
    }

    private init(others: Set<Unicode.Scalar>, taken: Set<String>) {
        self.others = others
        self.taken = taken
    }

    // Returns a unique name in Prometheus that ends in `suffix`. The names with the endings that
    // Prometheus adds are also reserved.
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
                // Prometheus reserves names that begin with two underscores.
                if result == "_", !isOwn || scalar == "_" { continue }
                result.unicodeScalars.append(isOwn ? scalar : "_")
            }
        }
        return result.isEmpty ? "_" : result
    }
}
