extension Exchange {
    /// What a transport knows of a response when its head is complete.
    public struct Opening: Sendable {
        /// The head.
        public var head: ResponseHead
        /// The number of bytes that the body will have, where it is known.
        public var length: Int64?
        /// The size before decoding, where it is known.
        public var encodedLength: Int64?

        /// Creates an opening.
        public init(head: ResponseHead, length: Int64? = nil, encodedLength: Int64? = nil) {
            self.head = head
            self.length = length
            self.encodedLength = encodedLength
        }
    }
}

/// A head that has come and is read by who waits for it.
///
/// What it becomes is then made where it is used and let go of: memory that one thread takes and
/// another gives back makes each wait for the other's allocator.
public protocol UnreadOpening: AnyObject, Sendable {
    /// What the head says; called once at most.
    /// - Throws: Why it is none.
    func read() throws -> Exchange.Opening
}

/// How a head reaches who waits for it.
enum ArrivedOpening: Sendable {
    case read(Exchange.Opening)
    case unread(any UnreadOpening)

    func get() throws -> Exchange.Opening {
        switch self {
        case .read(let opening): opening
        case .unread(let opening): try opening.read()
        }
    }
}
