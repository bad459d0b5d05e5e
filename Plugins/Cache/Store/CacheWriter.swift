// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Takes the content of one response; one task uses it at a time.
public protocol CacheWriter: Sendable {
    /// Takes the next bytes.
    func write(_ chunk: Data) async throws

    /// Ends the content; from then on the entry can be found, as a whole.
    func commit() async throws

    /// Gives the entry up, from any thread; nothing of it is kept.
    func abandon()
}
