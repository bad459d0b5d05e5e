// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// One of the places that serve a logical name: a replica of a service.
public struct Endpoint: Hashable, Sendable {
    /// The target of its connections.
    public var target: ConnectTarget
    /// Its share of the load against the others', above zero; 1 by default.
    public var weight: Double
    /// The zone that it runs in, if that is known.
    public var zone: String?

    /// Creates an endpoint.
    public init(_ target: ConnectTarget, weight: Double = 1, zone: String? = nil) {
        self.target = target
        self.weight = weight
        self.zone = zone
    }

    /// Creates an endpoint at a host, as a name or an IP address, and a port.
    public init(_ host: String, port: Int, weight: Double = 1, zone: String? = nil) {
        self.init(.host(host, port: port), weight: weight, zone: zone)
    }
}

extension Endpoint: CustomStringConvertible {
    /// Its address: `10.0.0.7:8080`.
    public var description: String { target.description }
}

/// The endpoints of a logical name, and how long they hold.
public struct EndpointList: Hashable, Sendable {
    /// The endpoints.
    public var endpoints: [Endpoint]
    /// How long the list is used before the resolver is asked again; nil for ever.
    public var freshFor: Duration?

    /// Creates a list.
    public init(_ endpoints: [Endpoint], freshFor: Duration? = nil) {
        self.endpoints = endpoints
        self.freshFor = freshFor
    }
}

/// Finds the endpoints of a logical name: a list, a file, DNS, or a registry of services.
public protocol EndpointResolver: Sendable {
    /// What a request is sent to, for people: "one of the addresses of users.internal".
    ///
    /// It is part of the facts of ``Endpoints``. By default it is "one of its endpoints".
    var summary: String { get }

    /// Returns the endpoints as they are now.
    ///
    /// Only one call runs at a time, in the background; meanwhile requests use the last list. If it
    /// fails, the last list stays in use.
    /// - Parameter context: Has the clock and the random source, and is cancelled when the answer
    ///   is no longer needed.
    /// - Returns: The endpoints, and how long they hold.
    /// - Throws: Any error, with a message that says what to do.
    func endpoints(in context: Context) async throws -> EndpointList
}

extension EndpointResolver {
    /// Says "one of its endpoints".
    public var summary: String { "one of its endpoints" }
}
