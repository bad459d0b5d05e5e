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
