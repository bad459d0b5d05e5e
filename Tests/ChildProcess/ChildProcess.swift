// SPDX-License-Identifier: Apache-2.0

import CSpawn
package import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// A child process of tests, examples and benchmarks.
///
/// It is killed when its object is released.
///
/// `Foundation.Process` reads the list of open descriptors while other threads open and close theirs, and
/// crashes there now and then. Here the system closes them in the child.
package final class ChildProcess: Sendable {
    /// Where a standard stream of the child comes from, or goes to.
    package enum Stream {
        /// That of this process.
        case inherited
        /// `/dev/null`.
        case null
        /// A pipe, whose other end this process has.
        case pipe
        /// For messages: where the output goes.
        case output
        /// What this handle reads or writes.
        case handle(FileHandle)
    }

    /// How a process has ended.
    package enum End: Equatable, Sendable {
        case exited(Int32)
        case killed(signal: Int32)

        /// What the process exited with; −1 if a signal has ended it.
        package var status: Int32 { if case .exited(let status) = self { status } else { -1 } }
    }

    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The process ID.
    package let id: Int32
    private static let environment = ProcessInfo.processInfo.environment
    private let pipes: [Int: FileHandle]
    private let ended = Mutex<End?>(nil)

    /// Where to write what the child reads, if that is a pipe.
    package var input: FileHandle { pipes[0] ?? .nullDevice }
    /// What the child prints, if that is a pipe.
    package var output: FileHandle { pipes[1] ?? .nullDevice }
    /// What the child prints as messages, if they have a pipe.
    package var errors: FileHandle { pipes[2] ?? .nullDevice }

    /// Starts a child, in which no signal is blocked.
    /// - Parameters:
    ///   - program: A path, or a name that is looked for in the folders of `PATH`.
    ///   - arguments: The arguments after the name of the program.
    ///   - environment: What is added to the environment of this process, or replaced there; nil removes.
    ///   - folder: The folder in which the child begins.
    ///   - input: Where its input comes from.
    ///   - output: Where its output goes.
    ///   - errors: Where its messages go.
    ///   - limit: When the child is killed, if it has not ended.
    /// - Throws: A ``Failure`` if the program cannot be started.
    package init(
        _ program: String, _ arguments: [String] = [], environment: [String: String?] = [:],
        in folder: String? = nil, input: Stream = .null, output: Stream = .inherited,
        errors: Stream = .inherited, limit: Duration? = nil
    ) throws {
        // The ends of the child are closed here once it has them.
        var (mine, theirs) = ([Int: FileHandle](), [FileHandle]())
        var streams: [Int32] = []
        for (number, stream) in [input, output, errors].enumerated() {
            switch stream {
            case .inherited: streams.append(Int32(number))
            case .output: streams.append(streams[1])
            case .handle(let handle): streams.append(handle.fileDescriptor)
            case .null:
                guard let null = FileHandle(forUpdatingAtPath: "/dev/null") else {
                    throw Failure(description: "/dev/null cannot be opened")
                }
                theirs.append(null)
                streams.append(null.fileDescriptor)
            case .pipe:
                let pipe = Pipe()
                let ends = (pipe.fileHandleForReading, pipe.fileHandleForWriting)
                mine[number] = number == 0 ? ends.1 : ends.0
                theirs.append(number == 0 ? ends.0 : ends.1)
                streams.append(theirs[theirs.count - 1].fileDescriptor)
            }
        }
        pipes = mine

        var variables = Self.environment
        for (name, value) in environment { variables[name] = value }
        let words = unsafe ([program] + arguments).map { unsafe strdup($0) } + [nil]
        let settings = unsafe variables.map { unsafe strdup("\($0)=\($1)") } + [nil]
        defer { unsafe (words + settings).forEach { unsafe free($0) } }
        var id: Int32 = 0
        let fault = unsafe cspawn(program, words, settings, folder, streams, &id)
        for end in theirs { try? end.close() }
        guard fault == 0 else {
            throw Failure(
                description: "\(program) cannot be started: errno \(fault)")
        }
        self.id = id
        if let limit {
            DispatchQueue.global().asyncAfter(deadline: .now() + limit / .seconds(1)) {
                [weak self] in
                self?.kill()
            }
        }
    }

    deinit {
        kill()
        wait()
    }

    // MARK: Its life

    package var isRunning: Bool { ended.withLock { reap(&$0, WNOHANG) == nil } }

    /// Sends a signal, if the process has not ended.
    package func signal(_ number: Int32) {
        // The ID is this child's until it has been waited for.
        ended.withLock { if $0 == nil { _ = Foundation.kill(id, number) } }
    }

    package func kill() { signal(SIGKILL) }

    /// Blocks this thread until the process has ended.
    @discardableResult
    package func wait() -> End {
        if let end = ended.withLock(\.self) { return end }
        // Until it is reaped, its ID is not given to another process.
        var info = unsafe siginfo_t()
        while unsafe waitid(P_PID, id_t(id), &info, WEXITED | WNOWAIT) == -1, errno == EINTR {}
        return ended.withLock { reap(&$0, 0) } ?? .exited(-1)
    }

    /// Waits until the process has ended, on a thread of its own.
    @discardableResult
    package func end() async -> End {
        await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: self.wait()) }.start()
        }
    }

    private func reap(_ end: inout End?, _ options: Int32) -> End? {
        if let end { return end }
        var status: Int32 = 0
        guard unsafe waitpid(id, &status, options) == id else { return nil }
        let signal = status & 0x7F
        end = signal == 0 ? .exited(status >> 8 & 0xFF) : .killed(signal: signal)
        return end
    }

    // MARK: What it prints

    /// The next line that the process prints, without its end; nil after the last.
    ///
    /// Blocks this thread.
    package func readLine() -> String? {
        readLineBytes().map { String(decoding: $0, as: UTF8.self) }
    }

    /// The bytes of the next line, without its end; nil if there is no more than a part of one.
    ///
    /// Blocks this thread.
    package func readLineBytes() -> Data? {
        var line = Data()
        while let byte = try? output.read(upToCount: 1), !byte.isEmpty {
            if byte.first == UInt8(ascii: "\n") { return line }
            line += byte
        }
        return nil
    }

    /// Reads what the process prints until it has ended.
    ///
    /// Blocks this thread. Messages are read after the output: they must fit into a pipe.
    package func finish() -> (end: End, output: Data, errors: Data) {
        let output = pipes[1].flatMap { try? $0.readToEnd() } ?? Data()
        let errors = pipes[2].flatMap { try? $0.readToEnd() } ?? Data()
        return (wait(), output, errors)
    }

    /// Does the same on a thread of its own.
    package func finished() async -> (end: End, output: Data, errors: Data) {
        await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: self.finish()) }.start()
        }
    }
}
