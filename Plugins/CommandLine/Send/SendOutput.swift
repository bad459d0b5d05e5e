import Foundation
import Synchronization

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Where the content of an answer goes: to the output, or to a file that appears when it is whole.
final class SendOutput: Sendable {
    private enum State {
        case idle
        /// A file beside the one that it will replace.
        case replacing(descriptor: Int32, temporary: String)
        /// What is no regular file cannot be replaced: a device, a pipe.
        case writing(descriptor: Int32)
        case ended
    }

    private let path: String?
    private let terminal: Terminal
    private let willShow: @Sendable () -> Void
    private let state = Mutex(State.idle)

    /// Creates an output.
    /// - Parameters:
    ///   - path: The file; the terminal's output where it is nil or `-`.
    ///   - terminal: The terminal.
    ///   - willShow: Runs before something is written to the terminal's output.
    init(_ path: String?, _ terminal: Terminal, willShow: @escaping @Sendable () -> Void) {
        // What a link points to is replaced, not the link.
        self.path =
            path == "-"
            ? nil
            : path.map {
                URL(filePath: $0).resolvingSymlinksInPath().path(percentEncoded: false)
            }
        self.terminal = terminal
        self.willShow = willShow
    }

    /// Opens the file, so that one which cannot be written is told before much is read.
    func begin() throws {
        guard let path else { return }
        try state.withLock { state in
            guard case .idle = state else { return }
            state = try Self.opened(path)
        }
    }

    /// Writes content of an accepted answer.
    func write(_ chunk: Data) throws {
        guard let path else { return try show(chunk) }
        try state.withLock { state in
            switch state {
            case .replacing(let descriptor, _), .writing(let descriptor):
                try Descriptor.put(chunk, to: descriptor, as: path)
            case .idle, .ended: throw CancellationError()
            }
        }
    }

    /// Writes to the terminal's output whatever there is a file for.
    func show(_ chunk: Data) throws {
        willShow()
        try terminal.output(chunk)
    }

    /// Puts the file in its place.
    func keep() throws {
        guard let path else { return }
        try state.withLock { state in
            defer { state = .ended }
            switch state {
            case .replacing(let descriptor, let temporary):
                // A full disk may be told as late as this.
                let isClosed = fsync(descriptor) == 0
                guard close(descriptor) == 0, isClosed, unsafe rename(temporary, path) == 0 else {
                    let failure = Descriptor.failure("cannot write \(path)")
                    unsafe unlink(temporary)
                    throw failure
                }
            case .writing(let descriptor): close(descriptor)
            case .idle, .ended: break
            }
        }
    }

    /// Leaves nothing behind, whoever may still be writing.
    func discard() {
        state.withLock { state in
            switch state {
            case .replacing(let descriptor, let temporary):
                close(descriptor)
                unsafe unlink(temporary)
            case .writing(let descriptor): close(descriptor)
            case .idle, .ended: break
            }
            state = .ended
        }
    }

    private static func opened(_ path: String) throws -> State {
        var existing = stat()
        let exists = unsafe stat(path, &existing) == 0
        if exists, existing.st_mode & S_IFMT != S_IFREG {
            let descriptor = unsafe open(path, O_WRONLY | O_CLOEXEC)
            guard descriptor >= 0 else { throw Descriptor.failure("cannot write \(path)") }
            return .writing(descriptor: descriptor)
        }
        let folder = URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
        // Without the file's own name, which may be as long as a name can be.
        let temporary = "\(folder)/.turnpike-\(UUID().uuidString)"
        let mode = exists ? existing.st_mode & 0o7777 : 0o666
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw Descriptor.failure("cannot write \(path)") }
        // A mode that was there is kept, whatever the mask says.
        if exists { fchmod(descriptor, mode) }
        return .replacing(descriptor: descriptor, temporary: temporary)
    }
}
