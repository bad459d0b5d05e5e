// SPDX-License-Identifier: Apache-2.0

/// A head that has arrived and is parsed by its reader.
///
/// What it becomes is then made where it is used and let go of: memory that one thread takes and
/// another gives back makes each wait for the other's allocator.
public protocol LazyResponseHead: AnyObject, Sendable {
    /// What the head says; called once at most.
    /// - Throws: Why it is none.
    func read() throws -> Exchange.Head
}
