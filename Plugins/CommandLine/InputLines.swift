// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation
import Synchronization
import Turnpike
import TurnpikeSupport

/// The lines of an input, which may contain any bytes.
final class InputLines: Sendable {
    enum Line: Sendable, Equatable {
        /// The bytes of the line, without its line ending.
        case whole(Data)
        /// The line exceeded the limit and was discarded.
        case tooLong
    }

    private let reads = BlockingReads()
    private let reader: Mutex<LineReader>

    /// The closure `read` returns up to a number of further bytes, or no bytes at the end.
    init(maxBytes: Int, read: @escaping @Sendable (Int) throws -> Data) {
        reader = Mutex(LineReader(maxBytes: maxBytes, read: read))
    }

    /// Returns the next line; nil at the end of the input, or if the waiting task is cancelled.
    /// - Throws: The error of reading the input. A partial line is lost.
    func next() async throws -> Line? {
        do {
            return try await reads.value { [self] in try reader.withLock { try $0.next() } }
        } catch is CancellationError {
            return nil
        }
    }
}

struct LineReader {
    private static let portion = 65_536
    private let maxBytes: Int
    private let read: @Sendable (Int) throws -> Data
    // The bytes that were read, and the position of the first byte that was not returned.
    private var buffer = Data()
    private var start = 0
    private var hasEnded = false

    init(maxBytes: Int, read: @escaping @Sendable (Int) throws -> Data) {
        self.maxBytes = maxBytes
        self.read = read
    }

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
            // Reads the available bytes: a line must be answered before the next line arrives.
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

/// Runs blocking reads one after another on its own queue, outside the threads of the pool.
///
/// A task can cancel its wait for a read, but not the read.
struct BlockingReads: Sendable {
    private let queue = DispatchQueue(label: "turnpike.input")

    /// Returns the result of a read; if the task is cancelled, the result is lost.
    func value<Value: Sendable>(
        of read: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        let value = OneShot<Value>()
        queue.async { value.settle(Result { try read() }) }
        return try await value.value { value.settle(.failure(CancellationError())) }
    }
}

/// Asks a person for a password on the terminal of the process, without showing the password.
enum PasswordPrompt {
    static var noTerminal: ClientError {
        ClientError(
            .configuration,
            "-u: the password is missing, and there is no terminal to ask for it; write"
                + " user:password, or user: for an empty password")
    }

    /// Shows a text and reads a line, even if standard input and output are redirected.
    ///
    /// Input typed before the prompt is dropped. A cancellation restores the mode of the terminal.
    static func ask(_ prompt: String) async throws -> String {
        let terminal = unsafe open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard terminal >= 0 else { throw noTerminal }
        var before = termios()
        guard unsafe tcgetattr(terminal, &before) == 0 else {
            close(terminal)
            throw noTerminal
        }
        var silent = before
        silent.c_lflag &= ~tcflag_t(ECHO)
        // If the process were suspended or killed here, the terminal would not show input any more.
        // Ctrl-C therefore only cancels the task.
        let noKey = UInt8(truncatingIfNeeded: fpathconf(terminal, Int32(_PC_VDISABLE)))
        unsafe withUnsafeMutableBytes(of: &silent.c_cc) { keys in
            for key in [VSUSP, VQUIT] { unsafe keys[Int(key)] = noKey }
        }
        _ = unsafe tcsetattr(terminal, TCSAFLUSH, &silent)
        let line: Data
        do {
            defer {
                _ = unsafe tcsetattr(terminal, TCSANOW, &before)
                // The terminal hides input, and did not show the typed line end.
                try? Descriptor.put(Data("\n".utf8), to: terminal)
            }
            try Descriptor.put(Data(prompt.utf8), to: terminal)
            // After a cancellation, the read continues until the process ends, and the descriptor
            // must stay open.
            line = try await BlockingReads().value { try Descriptor.take(4096, from: terminal) }
        }
        close(terminal)
        guard !line.isEmpty else {
            throw ClientError(.configuration, "-u: the input ended before the password")
        }
        return String(decoding: line.prefix { $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
    }
}
