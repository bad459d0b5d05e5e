// SPDX-License-Identifier: Apache-2.0

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
