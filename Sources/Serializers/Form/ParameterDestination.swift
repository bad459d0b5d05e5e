// SPDX-License-Identifier: Apache-2.0

/// Where the parameters of a request go.
public enum ParameterDestination: Sendable, Hashable {
    /// The query for GET, HEAD and DELETE; the body for any other method.
    case byMethod
    /// The query, after the items that it already has.
    case query
    /// The body.
    case body
}
