// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// One of the places that serve a logical name: a replica of a service.
public struct Endpoint: Hashable, Sendable {
    /// Where connections to it go.
    public var target: ConnectTarget
    /// Its share of the load against the others', above zero; 1 by default.
    public var weight: Double
    /// The zone that it runs in, if that is known.
    public var zone: String?
    /// What else is known of it, for users' own rules.
    public var labels: [String: String]

    /// Creates an endpoint.
    public init(
        _ target: ConnectTarget, weight: Double = 1, zone: String? = nil,
        labels: [String: String] = [:]
    ) {
        self.target = target
        self.weight = weight
        self.zone = zone
        self.labels = labels
    }

    /// Creates an endpoint at a host, as a name or an IP address, and a port.
    public init(
        _ host: String, port: Int, weight: Double = 1, zone: String? = nil,
        labels: [String: String] = [:]
    ) {
        self.init(.host(host, port: port), weight: weight, zone: zone, labels: labels)
    }
}

extension Endpoint: CustomStringConvertible {
    /// Where it is: `10.0.0.7:8080`.
    public var description: String { target.description }
}
