// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// One of the servers for a logical name, such as a replica of a service.
public struct Endpoint: Hashable, Sendable {
    /// The target of the endpoint's connections.
    public var target: ConnectTarget
    /// The share of the load relative to other endpoints, above zero and 1 by default.
    public var weight: Double
    /// The zone of the endpoint, if known.
    public var zone: String?

    /// Creates an endpoint.
    public init(_ target: ConnectTarget, weight: Double = 1, zone: String? = nil) {
        self.target = target
        self.weight = weight
        self.zone = zone
    }

    /// Creates an endpoint at a port of a host, which is a name or an IP address.
    public init(_ host: String, port: Int, weight: Double = 1, zone: String? = nil) {
        self.init(.host(host, port: port), weight: weight, zone: zone)
    }
}

extension Endpoint: CustomStringConvertible {
    /// The address as text, such as `10.0.0.7:8080`.
    public var description: String { target.description }
}

extension Endpoint {
    /// Creates an endpoint from a text such as `10.0.0.7:8080`, `users-1.internal:8080`,
    /// `[2001:db8::7]:8080` or `unix:/run/users.sock`.
    /// - Parameters:
    ///   - text: The address.
    ///   - port: The port for a text without a port.
    ///   - weight: The share of the load relative to other endpoints, above zero.
    ///   - zone: The zone of the endpoint, if known.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` with the found and expected text.
    public init(
        parsing text: String, port: Int? = nil, weight: Double = 1, zone: String? = nil
    ) throws {
        self.init(try Self.target(address: text, port: port), weight: weight, zone: zone)
    }

    static func target(of text: String) throws(ClientError) -> ConnectTarget {
        let target: ConnectTarget
        if let path = path(in: text) {
            target = .unixSocket(path)
        } else {
            guard let port = text.utf8.lastIndex(of: UInt8(ascii: ":")),
                text.utf8.last != UInt8(ascii: "]"), !text.contains("://")
            else { throw expected(text) }
            let host = String(text[..<port])
            guard let number = Self.port(text[text.utf8.index(after: port)...]) else {
                throw expected(text)
            }
            target = .host(try name(host, in: text), port: number)
        }
        if let fault = target.fault { throw ClientError(.configuration, fault) }
        return target
    }

    static func target(
        address text: String, port: Int?
    ) throws(ClientError) -> ConnectTarget {
        guard let port else { return try target(of: text) }
        if path(in: text) != nil {
            throw ClientError(
                .configuration, "found a \"port\" beside a Unix socket; expected none")
        }
        let isBracketed =
            text.utf8.first == UInt8(ascii: "[") && text.utf8.last == UInt8(ascii: "]")
        let host = isBracketed ? String(text.dropFirst().dropLast()) : text
        let target = ConnectTarget.host(host, port: port)
        if let fault = target.fault { throw ClientError(.configuration, fault) }
        return target
    }

    // The path in `unix:/run/users.sock`; nil for other text.
    private static func path(in text: String) -> String? {
        text.hasPrefix("unix:") ? String(text.dropFirst("unix:".count)) : nil
    }

    private static func name(
        _ host: String, in text: String
    ) throws(ClientError) -> String {
        if host.utf8.first == UInt8(ascii: "["), host.utf8.last == UInt8(ascii: "]"),
            host.contains(":"), IPAddress(host) != nil
        {
            return String(host.dropFirst().dropLast())
        }
        if host.contains(":") { throw expected(text) }
        return host
    }

    private static func port(_ digits: Substring) -> Int? {
        guard (1...5).contains(digits.utf8.count),
            digits.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 })
        else { return nil }
        return Int(digits)
    }

    private static func expected(_ text: String) -> ClientError {
        let size = text.utf8.count
        let found =
            size > 300 ? "\(size) bytes of text" : "\"\(Grammar.escaped(text, upTo: 80))\""
        return ClientError(
            .configuration,
            "found \(found); expected an address with its port, as 10.0.0.7:8080,"
                + " users-1.internal:8080, [2001:db8::7]:8080 or unix:/run/users.sock")
    }
}

/// The endpoints of a logical name, with the time of their validity.
public struct EndpointList: Hashable, Sendable {
    /// The endpoints of the name.
    public var endpoints: [Endpoint]
    /// The time after which the gate calls the resolver again, or nil for no limit.
    public var freshFor: Duration?

    /// Creates a list.
    public init(_ endpoints: [Endpoint], freshFor: Duration? = nil) {
        self.endpoints = endpoints
        self.freshFor = freshFor
    }
}

/// Finds the endpoints of a logical name, for example in a list, a file, DNS or a service registry.
public protocol EndpointResolver: Sendable {
    /// The destination of a request in words, such as "one of the addresses of users.internal".
    ///
    /// The text is part of the facts of ``Endpoints``. The default is "one of its endpoints".
    var summary: String { get }

    /// Returns the current endpoints.
    ///
    /// The gate runs one call at a time in the background. During this call, requests use the last
    /// list. If the call fails, the last list stays in use.
    /// - Parameter context: The context with the clock and the random source. If the list is not
    ///   needed any more, the context is cancelled.
    /// - Returns: The endpoints with the time of their validity.
    /// - Throws: Any error, with a message that states a remedy.
    func endpoints(in context: Context) async throws -> EndpointList
}

extension EndpointResolver {
    /// Returns the text "one of its endpoints".
    public var summary: String { "one of its endpoints" }
}

/// Endpoints that never change.
///
/// If the list has a mistake, calls fail as ``/TurnpikeCore/ClientError/Code/configuration``. The
/// error names the entry, the value that was found, and the expected value.
public struct FixedEndpoints: EndpointResolver {
    private let result: Result<EndpointList, any Error>

    /// The first hundred mistakes of the list, each with a path such as `endpoints[3].weight`.
    public let faults: [(path: String, message: String)]

    /// Creates a list and drops repeated entries.
    /// - Parameter endpoints: 1 to 100,000 endpoints. Endpoints with the same target must have the
    ///   same weight and zone.
    public init(_ endpoints: [Endpoint]) {
        self.init(EndpointCheck.checked(endpoints))
    }

    /// Creates a list from texts for ``Endpoint/init(parsing:port:weight:zone:)``.
    public init(_ texts: [String]) {
        self.init(EndpointReader.read(texts.map { .string($0) }))
    }

    private init(_ check: EndpointCheck) {
        faults = check.faults.first
        result = Result { EndpointList(try check.result(of: Self.source)) }
    }

    /// Returns the list.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` with the mistakes of the list.
    public func endpoints(in context: Context) async throws -> EndpointList { try result.get() }

    /// The number of endpoints, or a note that the list has mistakes.
    public var summary: String {
        switch try? result.get().endpoints.count {
        case nil: "one of its endpoints, whose list has mistakes"
        case 1?: "the one endpoint of its list"
        case let count?: "one of the \(count) endpoints of its list"
        }
    }

    private static let source = "the list of endpoints"
}

extension EndpointResolver where Self == FixedEndpoints {
    /// Endpoints that never change; see ``FixedEndpoints``.
    public static func list(_ endpoints: [Endpoint]) -> Self { FixedEndpoints(endpoints) }

    /// Endpoints that never change, as texts such as `"10.0.0.7:8080"`, `"[2001:db8::7]:8080"` and
    /// `"unix:/run/users.sock"`.
    public static func list(_ texts: [String]) -> Self { FixedEndpoints(texts) }
}
