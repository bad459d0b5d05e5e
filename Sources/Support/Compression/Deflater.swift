// SPDX-License-Identifier: Apache-2.0

// SAFETY: only this object uses the memory of the stream, and the object frees the memory at its
// end.
/// Compresses content chunk by chunk with the system's zlib.
@safe public final class Deflater: Compressor {
    private let zlib: Zlib
    private let stream: Zlib.Handle
    private var output = [UInt8](repeating: 0, count: 65_536)

    /// Starts the compression of the content of one message.
    /// - Parameters:
    ///   - format: The framing.
    ///   - level: From 1 (fastest) to 9 (smallest).
    /// - Throws: ``CompressionFault/noLibrary`` if the system has no zlib, or if zlib does not
    ///   support the format.
    public convenience init(_ format: CompressionFormat, level: Int) throws(CompressionFault) {
        guard format.isOfZlib else { throw .noLibrary }
        try self.init(windowBits: format == .gzip ? 31 : 15, level: level)
    }

    /// Starts a stream of raw deflate (RFC 1951), without framing, for the messages of a protocol.
    /// - Parameters:
    ///   - rawWindowBits: The size of the window, from 9 to 15; zlib has no window of 8 bits.
    ///   - level: From 1 (fastest) to 9 (smallest).
    /// - Throws: ``CompressionFault/noLibrary`` if the system has no zlib.
    public convenience init(rawWindowBits: Int, level: Int) throws(CompressionFault) {
        try self.init(windowBits: -CInt(min(max(rawWindowBits, 9), 15)), level: level)
    }

    private init(windowBits: CInt, level: Int) throws(CompressionFault) {
        guard let zlib = Zlib.shared else { throw .noLibrary }
        self.zlib = zlib
        unsafe stream = .allocate(capacity: 1)
        unsafe stream.initialize(to: Zlib.Stream())
        let level = CInt(min(max(level, 1), 9))
        guard unsafe zlib.beginDeflating(stream, level: level, windowBits: windowBits) else {
            throw .noLibrary
        }
    }

    deinit {
        unsafe zlib.endDeflating(stream)
        unsafe stream.deinitialize(count: 1)
        unsafe stream.deallocate()
    }

    /// Compresses a chunk.
    /// - Returns: The compressed bytes that are ready, or no bytes.
    /// - Throws: ``CompressionFault``.
    public func add(_ chunk: Data) throws(CompressionFault) -> Data {
        try add(chunk, step: 1 << 30)
    }

    // zlib counts the bytes of an input with 32 bits.
    func add(_ chunk: Data, step: Int) throws(CompressionFault) -> Data {
        var (rest, result) = (chunk, Data())
        while !rest.isEmpty {
            result += try run(rest.prefix(step), Zlib.noFlush)
            rest = rest.dropFirst(step)
        }
        return result
    }

    /// Returns the pending bytes, with which a reader can inflate all content so far (sync flush).
    ///
    /// The bytes end with an empty stored block: 00 00 FF FF.
    public func flush() throws(CompressionFault) -> Data { try run(Data(), Zlib.syncFlush) }

    /// Starts a new stream, which does not refer to earlier content.
    public func reset() { unsafe zlib.resetDeflating(stream) }

    /// Ends the content.
    /// - Returns: The last compressed bytes.
    /// - Throws: ``CompressionFault``.
    public func finish() throws(CompressionFault) -> Data { try run(Data(), Zlib.finish) }

    private func run(_ chunk: Data, _ flush: CInt) throws(CompressionFault) -> Data {
        var result = Data()
        let isGood = unsafe chunk.withUnsafeBytes { input in
            unsafe stream.pointee.nextIn = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
            unsafe stream.pointee.availableIn = CUnsignedInt(input.count)
            while true {
                let (code, count) = unsafe output.withUnsafeMutableBufferPointer { buffer in
                    unsafe stream.pointee.nextOut = buffer.baseAddress
                    unsafe stream.pointee.availableOut = CUnsignedInt(buffer.count)
                    let code = unsafe zlib.deflate(stream, flush)
                    return unsafe (code, buffer.count - Int(stream.pointee.availableOut))
                }
                result += output[..<count]
                if code == Zlib.streamEnd || code == Zlib.bufferError { return true }
                guard code == Zlib.ok else { return false }
                if unsafe stream.pointee.availableIn == 0, count < output.count,
                    flush != Zlib.finish
                {
                    return true
                }
            }
        }
        guard isGood else { throw .corrupt }
        return result
    }
}
