// SPDX-License-Identifier: Apache-2.0

extension Exchange {
    /// The parts of a response that are known when its head is complete.
    public struct Head: Sendable {
        /// The status and the header fields.
        public var response: ResponseHead
        /// The number of bytes that the body will have, where it is known.
        public var length: Int64?
        /// The size before decoding, where it is known.
        public var encodedLength: Int64?

        /// Creates a head.
        public init(_ response: ResponseHead, length: Int64? = nil, encodedLength: Int64? = nil) {
            self.response = response
            self.length = length
            self.encodedLength = encodedLength
        }
    }
}

/// A head that has arrived and is parsed by its reader.
///
/// The thread that uses the result then also allocates it. Memory that one thread allocates and another
/// one frees makes both wait.
public protocol LazyResponseHead: AnyObject, Sendable {
    /// What the head says; called once at most.
    /// - Throws: The fault of the head.
    func read() throws -> Exchange.Head
}
