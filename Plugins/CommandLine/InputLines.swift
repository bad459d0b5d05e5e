package import Foundation
import Synchronization
import TurnpikeCore

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The lines of an input, whatever bytes they hold.
///
/// They are read on a queue of their own, so that who waits for one can be cancelled though the
/// read cannot.
package final class InputLines: Sendable {
    /// A line.
    package enum Line: Sendable, Equatable {
        /// Its bytes, without its end.
        case whole(Data)
        /// There were more bytes than the limit; they are gone.
        case tooLong
    }

    private let queue = DispatchQueue(label: "turnpike.input")
    private let reader: Mutex<LineReader>

    /// Creates the lines of an input.
    /// - Parameters:
    ///   - maxBytes: The most bytes of a line.
    ///   - read: Returns the next bytes, up to a number; none at the end.
    package init(maxBytes: Int, read: @escaping @Sendable (Int) throws -> Data) {
        reader = Mutex(LineReader(maxBytes: maxBytes, read: read))
    }

    /// The next line; nil at the end of the input, or where the waiting task is cancelled.
    /// - Throws: What reading the input throws; a line that had begun is gone.
    package func next() async throws -> Line? {
        if Task.isCancelled { return nil }
        let line = OneShot<Line?>()
        queue.async { [reader = self] in
            line.settle(Result { try reader.reader.withLock { try $0.next() } })
        }
        do {
            return try await line.value { line.settle(.failure(CancellationError())) }
        } catch is CancellationError {
            return nil
        }
    }
}

/// The lines of an input, read where they are asked for.
package struct LineReader {
    private static let portion = 65_536
    private let maxBytes: Int
    private let read: @Sendable (Int) throws -> Data
    // Bytes that came already, and the place of the first that was not given out.
    private var buffer = Data()
    private var start = 0
    private var hasEnded = false

    /// Creates a reader; see ``InputLines/init(maxBytes:read:)``.
    package init(maxBytes: Int, read: @escaping @Sendable (Int) throws -> Data) {
        self.maxBytes = maxBytes
        self.read = read
    }

    /// The next line; nil at the end of the input.
    package mutating func next() throws -> InputLines.Line? {
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
            // What is there, as soon as it is: a line must be answered before the next one comes.
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
