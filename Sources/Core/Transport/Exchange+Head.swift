// SPDX-License-Identifier: Apache-2.0

extension Exchange {
    /// The parts of a response that are known when its head is complete.
    public struct Head: Sendable {
        /// The status and the header fields.
        public var response: ResponseHead
        /// The number of bytes of the body, if it is known.
        public var length: Int64?
        /// The size of the body before decoding, if it is known.
        public var encodedLength: Int64?

        /// Creates a head.
        public init(_ response: ResponseHead, length: Int64? = nil, encodedLength: Int64? = nil) {
            self.response = response
            self.length = length
            self.encodedLength = encodedLength
        }
    }
}

/// A head that has arrived, but that its reader parses later.
///
/// The thread that uses the head then also allocates it. Memory that one thread allocates and
/// another thread frees makes both threads wait.
public protocol LazyResponseHead: AnyObject, Sendable {
    /// Parses the head; it is called at most once.
    /// - Throws: The fault of the head.
    func read() throws -> Exchange.Head
}
