// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Endpoints that never change.
///
/// A list with a mistake is never used: calls fail as
/// ``/TurnpikeCore/ClientError/Code/configuration``, with the entry, what was found there, and what
/// was expected.
public struct FixedEndpoints: EndpointResolver {
    private let result: Result<EndpointList, any Error>

    /// The mistakes of the list, the first hundred of them, each with its path:
    /// `endpoints[3].weight`.
    public let faults: [(path: String, message: String)]

    /// Creates a list.
    ///
    /// An entry that repeats another one in all respects is dropped.
    /// - Parameter endpoints: 1 to 100,000 endpoints. Two with the same target must agree in weight
    ///   and zone.
    public init(_ endpoints: [Endpoint]) {
        self.init(EndpointCheck.checked(endpoints))
    }

    /// Creates a list from texts as ``Endpoint/init(parsing:weight:zone:)`` reads them.
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

    /// How many endpoints there are, or that the list has mistakes.
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

    /// Endpoints that never change, as texts: `"10.0.0.7:8080"`, `"[2001:db8::7]:8080"`,
    /// `"unix:/run/users.sock"`.
    public static func list(_ texts: [String]) -> Self { FixedEndpoints(texts) }
}
