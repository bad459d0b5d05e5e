// SPDX-License-Identifier: Apache-2.0

/// A head that has arrived and is parsed by its reader.
///
/// The response is made by the thread that uses it and frees it. If one thread allocates memory and
/// another frees it, both wait for the lock of the allocator.
public protocol UnreadHead: AnyObject, Sendable {
    /// Parses the head; called once at most.
    /// - Throws: An error if the head is invalid.
    func read() throws -> Exchange.Head
}
