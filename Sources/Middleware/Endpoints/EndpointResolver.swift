// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Finds the endpoints of a logical name: a list, a file, DNS, or a registry of services.
public protocol EndpointResolver: Sendable {
    /// What a request is sent to, for people: "one of the addresses of users.internal".
    ///
    /// It stands in the facts of ``Endpoints``. By default it is "one of its endpoints".
    var summary: String { get }

    /// Returns the endpoints as they are now.
    ///
    /// One call at a time is made, off the path of requests, which go on with the last list in the
    /// meantime. A list that fails to come keeps the last one in use.
    /// - Parameter context: Gives time and randomness, and is cancelled when nobody needs the answer
    ///   any more.
    /// - Returns: The endpoints, and how long they hold.
    /// - Throws: Any error, with a message that says what to do.
    func endpoints(in context: Context) async throws -> EndpointList
}

extension EndpointResolver {
    /// Says "one of its endpoints".
    public var summary: String { "one of its endpoints" }
}
