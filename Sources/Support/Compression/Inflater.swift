// SPDX-License-Identifier: Apache-2.0

// SAFETY: only this object uses the memory of the stream, and the object frees the memory at its
// end.
/// Inflates content in steps with the system's zlib.
///
/// A call fills at most the caller's buffer, and large content does not exhaust memory.
@safe public final class Inflater: Decompressor {
    /// The result of one call of ``inflate(_:into:)``.
    public struct Step: Sendable {
        /// The number of consumed input bytes.
        public let consumed: Int
        /// The number of produced bytes.
        public let produced: Int
        /// Whether the content is complete; further input may be another gzip member.
        public let hasEnded: Bool
    }

    private enum State {
        // The coding "deflate" means zlib's framing, but some servers send raw deflate.
        case undecided(start: [UInt8])
        case inflating
        case ended
    }

    private let zlib: Zlib
    private let format: CompressionFormat?
    private let stream: Zlib.Handle
    private var isOpen = false
    private var state = State.undecided(start: [])

    private static let maxStep = 1 << 30

    /// Starts the inflation of the content of one message.
    /// - Parameter format: The framing. ``CompressionFormat/deflate`` also accepts raw deflate.
    /// - Throws: ``CompressionFault/noLibrary`` if the system has no zlib, or if zlib does not
    ///   support the format.
    public init(_ format: CompressionFormat) throws(CompressionFault) {
        guard let zlib = Zlib.shared, format.isOfZlib else { throw .noLibrary }
        self.zlib = zlib
        self.format = format
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: Zlib.Stream())
        if format == .gzip {
            guard open(windowBits: 31) else { throw .noLibrary }
            state = .inflating
        }
    }

    /// Starts the inflation of raw deflate (RFC 1951), for the messages of a protocol.
    /// - Parameter rawWindowBits: The size of the sender's window, from 8 to 15.
    /// - Throws: ``CompressionFault/noLibrary`` if the system has no zlib.
    public init(rawWindowBits: Int) throws(CompressionFault) {
        guard let zlib = Zlib.shared else { throw .noLibrary }
        self.zlib = zlib
        format = nil
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: Zlib.Stream())
        // Some senders agree to 8 bits but use 9 bits, as zlib once did.
        guard open(windowBits: -CInt(min(max(rawWindowBits, 9), 15))) else { throw .noLibrary }
        state = .inflating
    }

    /// Starts a new stream, which does not refer to earlier content.
    public func reset() throws(CompressionFault) {
        guard isOpen, unsafe zlib.resetInflating(stream) else { throw .corrupt }
        state = .inflating
    }

    deinit {
        if isOpen { unsafe zlib.endInflating(stream) }
        unsafe stream.deinitialize(count: 1)
        unsafe stream.deallocate()
    }

    /// Inflates some bytes.
    ///
    /// If `room` is full, call the method again, even without further input, because more output
    /// may be pending.
    /// - Parameters:
    ///   - input: The bytes after the bytes that were already consumed.
    ///   - room: Receives the inflated bytes.
    /// - Returns: The numbers of consumed and produced bytes.
    /// - Throws: ``CompressionFault/corrupt`` if the bytes do not have the format.
    public func inflate(
        _ input: UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
    ) throws(CompressionFault) -> Step {
        var (consumed, produced) = (0, 0)
        if case .undecided(var start) = state {
            while start.count < 2, consumed < input.count {
                unsafe start.append(input[consumed])
                consumed += 1
            }
            state = .undecided(start: start)
            if start.count < 2 { return Step(consumed: consumed, produced: 0, hasEnded: false) }
            let isZlib = start[0] & 15 == 8 && (Int(start[0]) << 8 | Int(start[1])) % 31 == 0
            guard open(windowBits: isZlib ? 15 : -15) else { throw .noLibrary }
            state = .inflating
            // The two bytes need no output space, because zlib buffers the bytes.
            let (first, second) = (start[0], start[1])
            produced += try unsafe withUnsafeTemporaryAllocation(byteCount: 2, alignment: 1) {
                bytes throws(CompressionFault) in
                unsafe bytes[0] = first
                unsafe bytes[1] = second
                return try unsafe step(UnsafeRawBufferPointer(bytes), room).produced
            }
        }
        var isFirst = true
        while isFirst || consumed < input.count {
            isFirst = false
            if case .ended = state {
                if consumed == input.count || format == nil { break }
                // After the end of a member, only another member may follow (RFC 1952 §2.2).
                guard format == .gzip, unsafe zlib.resetInflating(stream) else { throw .corrupt }
                state = .inflating
            }
            if produced == room.count { break }
            let made = try unsafe step(
                UnsafeRawBufferPointer(rebasing: input[consumed...]),
                UnsafeMutableRawBufferPointer(rebasing: room[produced...]))
            consumed += made.consumed
            produced += made.produced
            if made.isStuck { break }
        }
        if case .ended = state {
            return Step(consumed: consumed, produced: produced, hasEnded: true)
        }
        return Step(consumed: consumed, produced: produced, hasEnded: false)
    }

    private func open(windowBits: CInt) -> Bool {
        isOpen = unsafe zlib.beginInflating(stream, windowBits: windowBits)
        return isOpen
    }

    private func step(
        _ input: UnsafeRawBufferPointer, _ room: UnsafeMutableRawBufferPointer
    ) throws(CompressionFault) -> (consumed: Int, produced: Int, isStuck: Bool) {
        let take = min(input.count, Self.maxStep)
        let give = min(room.count, Self.maxStep)
        unsafe stream.pointee.nextIn = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        unsafe stream.pointee.availableIn = CUnsignedInt(take)
        unsafe stream.pointee.nextOut = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
        unsafe stream.pointee.availableOut = CUnsignedInt(give)
        let code = unsafe zlib.inflate(stream)
        switch code {
        case Zlib.streamEnd: state = .ended
        case Zlib.ok, Zlib.bufferError: break
        default: throw .corrupt
        }
        return unsafe (
            take - Int(stream.pointee.availableIn), give - Int(stream.pointee.availableOut),
            code == Zlib.bufferError
        )
    }
}
