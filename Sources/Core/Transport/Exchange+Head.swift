extension Exchange {
    /// What a transport knows of a response when its head is complete.
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

/// A head that has come and is read by who waits for it.
///
/// What it becomes is then made where it is used and let go of: memory that one thread takes and
/// another gives back makes each wait for the other's allocator.
public protocol UnreadHead: AnyObject, Sendable {
    /// What the head says; called once at most.
    /// - Throws: Why it is none.
    func read() throws -> Exchange.Head
}

/// How a head reaches who waits for it.
enum ArrivedHead: Sendable {
    case read(Exchange.Head)
    case unread(any UnreadHead)

    func get() throws -> Exchange.Head {
        switch self {
        case .read(let head): head
        case .unread(let head): try head.read()
        }
    }
}
