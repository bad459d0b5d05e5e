// SPDX-License-Identifier: Apache-2.0

/// A type that has a value for responses without content: 204, 205, or a response to HEAD.
public protocol EmptyResponse {
    /// The value.
    static var emptyValue: Self { get }
}
