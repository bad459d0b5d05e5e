// SPDX-License-Identifier: Apache-2.0

/// A stored response and its content, which can be read even if the store removes the entry meanwhile.
public struct CacheEntry: Sendable {
    /// The response.
    public let response: StoredResponse
    /// Its content.
    public let content: any CachedContent

    /// Creates an entry.
    public init(response: StoredResponse, content: any CachedContent) {
        self.response = response
        self.content = content
    }
}
