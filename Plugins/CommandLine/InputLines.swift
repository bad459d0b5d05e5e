// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Synchronization
import TurnpikeSupport

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The lines of an input, which may contain any bytes.
final class InputLines: Sendable {
    /// A line.
    enum Line: Sendable, Equatable {
        /// The bytes of the line, without its line ending.
        case whole(Data)
        /// The line exceeded the limit and was discarded.
        case tooLong
    }

    private let reads = BlockingReads()
    private let reader: Mutex<LineReader>

    /// Creates the lines of an input.
    /// - Parameters:
    ///   - maxBytes: The longest line in bytes.
    ///   - read: Returns up to a number of further bytes, or none at the end.
    init(maxBytes: Int, read: @escaping @Sendable (Int) throws -> Data) {
        reader = Mutex(LineReader(maxBytes: maxBytes, read: read))
    }

    /// Returns the next line, or nil at the end of the input or if the waiting task is cancelled.
    /// - Throws: The error of reading the input. A partial line is lost.
    func next() async throws -> Line? {
        do {
            return try await reads.value { [self] in try reader.withLock { try $0.next() } }
        } catch is CancellationError {
            return nil
        }
    }
}

/// Splits an input into lines.
struct LineReader {
    private static let portion = 65_536
    private let maxBytes: Int
    private let read: @Sendable (Int) throws -> Data
    // Bytes that were read, and the position of the first that was not returned.
    private var buffer = Data()
    private var start = 0
    private var hasEnded = false

    /// Creates a reader; see ``InputLines/init(maxBytes:read:)``.
    init(maxBytes: Int, read: @escaping @Sendable (Int) throws -> Data) {
        self.maxBytes = maxBytes
        self.read = read
    }

    /// Returns the next line, or nil at the end of the input.
    mutating func next() throws -> InputLines.Line? {
        var scanned = start
        var isTooLong = false
        while true {
            if let end = lineFeed(from: scanned) {
                defer { start = end + 1 }
                if isTooLong || end - start > maxBytes { return .tooLong }
                return .whole(line(start..<end))
            }
            buffer = start == 0 ? buffer : Data(buffer.dropFirst(start))
            start = 0
            if buffer.count > maxBytes {
                isTooLong = true
                buffer = Data()
            }
            if hasEnded {
                defer { buffer = Data() }
                if isTooLong { return .tooLong }
                return buffer.isEmpty ? nil : .whole(buffer)
            }
            scanned = buffer.count
            // Reads what is available, because a line must be answered before the next one arrives.
            let chunk = try read(Self.portion)
            if chunk.isEmpty { hasEnded = true } else { buffer.append(chunk) }
        }
    }

    private func line(_ range: Range<Int>) -> Data {
        let line = buffer.subdata(in: range)
        return line.last == 0x0D ? line.dropLast() : line
    }

    private func lineFeed(from position: Int) -> Int? {
        unsafe buffer.withUnsafeBytes { bytes in
            guard position < bytes.count, let base = bytes.baseAddress else { return nil }
            let found = unsafe memchr(base + position, 0x0A, bytes.count - position)
            return unsafe found.map { unsafe $0 - UnsafeMutableRawPointer(mutating: base) }
        }
    }
}

/// Runs reads that block, one after the other, on a queue of their own.
///
/// A task that waits for one holds no thread of the pool, and its wait can be cancelled although the
/// read cannot.
struct BlockingReads: Sendable {
    private let queue = DispatchQueue(label: "turnpike.input")

    /// Returns what a read returns.
    /// - Throws: The error of the read, or `CancellationError` if the waiting task is cancelled. The
    ///   read then ends later, and its result is lost.
    func value<Value: Sendable>(
        of read: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        let value = OneShot<Value>()
        queue.async { value.settle(Result { try read() }) }
        return try await value.value { value.settle(.failure(CancellationError())) }
    }
}
