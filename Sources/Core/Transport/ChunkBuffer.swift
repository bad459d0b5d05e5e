// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

/// The unread chunks in order; chunks beyond the memory limit of ``Flow`` are in a file.
struct ChunkBuffer {
    private let flow: Flow
    private var chunks: [BodyChunk] = []
    private var first = 0
    private var file: SpillFile?

    private(set) var count = 0

    init(_ flow: Flow) { self.flow = flow }

    mutating func append(_ chunk: BodyChunk) throws {
        // While the file has chunks, new chunks are added to the file, to keep the order.
        if let file, !file.isEmpty { return try file.append(chunk.data()) }
        if let limit = flow.memoryLimit, count + chunk.count > limit, count > 0 {
            let file = try self.file ?? SpillFile(limit: flow.fileLimit)
            self.file = file
            return try file.append(chunk.data())
        }
        chunks.append(chunk)
        count += chunk.count
    }

    mutating func popFirst() throws -> BodyChunk? {
        guard first < chunks.count else { return try file?.read().map(BodyChunk.data) }
        let chunk = chunks[first]
        chunks[first] = .data(Data())
        first += 1
        if first == chunks.count {
            chunks.removeAll(keepingCapacity: true)
            first = 0
        } else if first > 64, first * 2 > chunks.count {
            chunks.removeFirst(first)
            first = 0
        }
        count -= chunk.count
        return chunk
    }

    mutating func removeAll() {
        for chunk in chunks[first...] { chunk.drop() }
        chunks = []
        first = 0
        count = 0
        file = nil
    }
}

/// A chunk for the reader, which is converted to `Data` or dropped exactly once.
public enum BodyChunk: Sendable {
    /// Bytes in `Data`.
    case data(Data)
    /// Bytes in memory that belongs to another library.
    case foreign(UnownedBuffer)

    var count: Int {
        switch self {
        case .data(let data): data.count
        case .foreign(let bytes): bytes.count
        }
    }

    func data() -> Data {
        switch self {
        case .data(let data): data
        case .foreign(let bytes): bytes.data()
        }
    }

    func drop() {
        if case .foreign(let bytes) = self { bytes.free() }
    }
}

// SAFETY: the memory belongs to this value, which is converted to `Data` or freed, exactly once.
/// Memory that a library has passed to this library, with a closure that frees the memory.
@safe public struct UnownedBuffer: @unchecked Sendable {
    private let start: UnsafeMutableRawPointer
    let count: Int
    private let giveBack: @Sendable (UnsafeMutableRawPointer) -> Void

    // Chunks up to this size are copied, because a copy is cheaper than a `Data` deallocator.
    private static let small = 4096

    /// Takes ownership of memory.
    /// - Parameters:
    ///   - start: The address of the first byte.
    ///   - count: The number of bytes.
    ///   - giveBack: Frees the memory, and is called once.
    public init(
        start: UnsafeMutableRawPointer, count: Int,
        giveBack: @escaping @Sendable (UnsafeMutableRawPointer) -> Void
    ) {
        unsafe self.start = start
        self.count = count
        unsafe self.giveBack = unsafe giveBack
    }

    func data() -> Data {
        guard count > Self.small else {
            defer { free() }
            return unsafe Data(bytes: start, count: count)
        }
        return unsafe Data(
            bytesNoCopy: start, count: count,
            deallocator: .custom { [giveBack] bytes, _ in unsafe giveBack(bytes) })
    }

    func free() { unsafe giveBack(start) }
}

/// Temporary files for unread bytes; each file is removed after its last byte is read.
final class SpillFile {
    private struct Part {
        let file: UnnamedFile
        var size: Int64 = 0
    }

    private let limit: Int64
    private let partBytes: Int64
    private var parts: [Part]
    // The position in the first file.
    private var readOffset: Int64 = 0
    private var unread: Int64 = 0

    private static let readBytes = 262_144

    init(limit: Int64, partBytes: Int64 = 268_435_456) throws {
        self.limit = limit
        self.partBytes = partBytes
        parts = [Part(file: try Self.attempt { try UnnamedFile.temporary() })]
    }

    var isEmpty: Bool { unread == 0 }

    /// The size of all files.
    var size: Int64 { parts.reduce(0) { $0 + $1.size } }

    func append(_ chunk: Data) throws {
        guard unread + Int64(chunk.count) <= limit else {
            throw ClientError(
                .tooLarge,
                "the reader is behind the server by more than \(limit) bytes; read faster, or use a"
                    + " transport with backpressure")
        }
        try Self.attempt {
            if parts[parts.count - 1].size >= partBytes {
                parts.append(Part(file: try UnnamedFile.temporary()))
            }
            let last = parts.count - 1
            try parts[last].file.write(chunk, at: parts[last].size)
            parts[last].size += Int64(chunk.count)
        }
        unread += Int64(chunk.count)
    }

    func read() throws -> Data? {
        if isEmpty { return nil }
        let wanted = Int(min(parts[0].size - readOffset, Int64(Self.readBytes)))
        let chunk = try Self.attempt { try parts[0].file.read(upToCount: wanted, at: readOffset) }
        readOffset += Int64(chunk.count)
        unread -= Int64(chunk.count)
        guard readOffset == parts[0].size else { return chunk }
        readOffset = 0
        if parts.count > 1 {
            parts.removeFirst()
        } else {
            parts[0].size = 0
            parts[0].file.truncate()
        }
        return chunk
    }

    private static func attempt<Value>(_ action: () throws -> Value) throws -> Value {
        do {
            return try action()
        } catch let fault as FileFault {
            throw ClientError(
                .download, "a response cannot be buffered in a temporary file: \(fault)",
                underlying: fault)
        }
    }
}
