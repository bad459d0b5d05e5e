// SPDX-License-Identifier: Apache-2.0

/// An entry of a list.
public struct CacheListing: Sendable {
    /// The response.
    public let response: StoredResponse
    /// The bytes of its content.
    public let length: Int64

    /// Creates an entry of a list.
    public init(response: StoredResponse, length: Int64) {
        self.response = response
        self.length = length
    }
}
