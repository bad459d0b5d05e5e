// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// Splits chunks into lines, in time linear in the size of the chunks, with memory for one line.
struct LineSplitter {
    enum Ending {
        /// A line ends with LF or CRLF.
        case lineFeed
        /// A line ends with LF, CR or CRLF, as in event streams.
        case any
    }

    private let ending: Ending
    private let maxBytes: Int
    private var chunk = Data()
    private var position = 0
    // The next LF in the chunk, or the end of the chunk.
    private var lineFeed = 0
    // The beginning of a line that continues in the next chunk.
    private var carried: [UInt8] = []
    // True if the last chunk ended with CR, because an LF at the start of the next chunk belongs to
    // that CR.
    private var skipsLineFeed = false

    private(set) var number = 0

    init(ending: Ending = .lineFeed, maxBytes: Int) {
        self.ending = ending
        self.maxBytes = maxBytes
    }

    /// Adds a chunk after the previous chunk has been consumed.
    mutating func append(_ chunk: Data) {
        self.chunk = chunk
        position = 0
        lineFeed = -1
    }

    /// Passes the next complete line to `read`, or returns nil if more bytes are needed.
    mutating func next<Value>(
        _ read: (UnsafeRawBufferPointer) throws -> Value
    ) throws -> Value? {
        try unsafe chunk.withUnsafeBytes { bytes in
            if skipsLineFeed, position < bytes.count {
                skipsLineFeed = false
                if unsafe bytes[position] == 0x0A { position += 1 }
            }
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[position...])
            if lineFeed < position {
                lineFeed = position + (unsafe Self.place(of: 0x0A, in: rest) ?? rest.count)
            }
            let end = lineFeed < bytes.count ? lineFeed - position : nil
            guard let length = unsafe Self.length(of: rest, ending, lineFeed: end) else {
                try unsafe carry(rest)
                position = bytes.count
                return nil
            }
            let isReturn = unsafe rest[length] == 0x0D
            position += length + 1
            if isReturn {
                if position < bytes.count {
                    if unsafe bytes[position] == 0x0A { position += 1 }
                } else {
                    skipsLineFeed = true
                }
            }
            return try unsafe finish(UnsafeRawBufferPointer(rebasing: rest[..<length]), read)
        }
    }

    /// Passes the bytes after the last line ending to `read`, or returns nil without such bytes.
    mutating func rest<Value>(_ read: (UnsafeRawBufferPointer) throws -> Value) throws -> Value? {
        if carried.isEmpty { return nil }
        return try unsafe finish(UnsafeRawBufferPointer(start: nil, count: 0), read)
    }

    private mutating func finish<Value>(
        _ tail: UnsafeRawBufferPointer, _ read: (UnsafeRawBufferPointer) throws -> Value
    ) throws -> Value {
        if carried.isEmpty {
            if tail.count > maxBytes { throw tooLong() }
            number += 1
            return try unsafe read(Self.withoutReturn(tail, ending))
        }
        try unsafe carry(tail)
        number += 1
        defer { carried.removeAll(keepingCapacity: true) }
        return try unsafe carried.withUnsafeBytes {
            try unsafe read(Self.withoutReturn($0, ending))
        }
    }

    private mutating func carry(_ bytes: UnsafeRawBufferPointer) throws {
        if carried.count + bytes.count > maxBytes { throw tooLong() }
        unsafe carried.append(contentsOf: bytes)
    }

    private func tooLong() -> ClientError {
        ClientError(
            .tooLarge, "line \(number + 1) is longer than \(maxBytes) bytes; raise the limit")
    }

    private static func length(
        of bytes: UnsafeRawBufferPointer, _ ending: Ending, lineFeed: Int?
    ) -> Int? {
        guard ending == .any else { return lineFeed }
        let line = unsafe UnsafeRawBufferPointer(rebasing: bytes[..<(lineFeed ?? bytes.count)])
        return unsafe place(of: 0x0D, in: line) ?? lineFeed
    }

    private static func place(of byte: CInt, in bytes: UnsafeRawBufferPointer) -> Int? {
        guard let base = bytes.baseAddress, bytes.count > 0 else { return nil }
        return unsafe memchr(base, byte, bytes.count).map {
            unsafe $0 - UnsafeMutableRawPointer(mutating: base)
        }
    }

    private static func withoutReturn(
        _ line: UnsafeRawBufferPointer, _ ending: Ending
    ) -> UnsafeRawBufferPointer {
        guard ending == .lineFeed, line.count > 0, unsafe line[line.count - 1] == 0x0D else {
            return unsafe line
        }
        return unsafe UnsafeRawBufferPointer(rebasing: line.dropLast())
    }
}
