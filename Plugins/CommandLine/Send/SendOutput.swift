// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike
import TurnpikeSupport

/// The destination of the content, which is the output or a file that appears after the last byte.
final class SendOutput: Sendable {
    private enum State {
        case idle
        /// A temporary file that will replace the destination.
        case replacing(descriptor: Int32, temporary: String)
        /// The destination is a device or a pipe, which cannot be replaced.
        case writing(descriptor: Int32)
        case ended
    }

    private let path: String?
    private let display: SendDisplay
    private let willShow: @Sendable () -> Void
    private let state = Mutex(State.idle)

    /// Creates an output to a file, or with nil or `-` to the display.
    init(_ path: String?, _ display: SendDisplay, willShow: @escaping @Sendable () -> Void) {
        // A symbolic link stays, and the target of the link is replaced.
        self.path =
            path == "-"
            ? nil
            : path.map {
                URL(filePath: $0).resolvingSymlinksInPath().path(percentEncoded: false)
            }
        self.display = display
        self.willShow = willShow
    }

    /// Opens the file early, because an error must be reported before much content is read.
    func begin() throws {
        guard let path else { return }
        try state.withLock { state in
            guard case .idle = state else { return }
            state = try Self.opened(path)
        }
    }

    func show(_ head: ResponseHead) throws {
        willShow()
        try display.show(head)
    }

    /// Writes content of an accepted response to the file or the display.
    /// - Returns: False if no more content is needed.
    func write(_ chunk: Data) throws -> Bool {
        guard let path else { return try show(chunk) }
        try state.withLock { state in
            switch state {
            case .replacing(let descriptor, _), .writing(let descriptor):
                try Descriptor.put(chunk, to: descriptor, as: path)
            case .idle, .ended: throw CancellationError()
            }
        }
        return true
    }

    /// Shows content on the display, even if there is a file.
    /// - Returns: False if no more content is needed.
    func show(_ chunk: Data) throws -> Bool {
        willShow()
        return try display.write(chunk)
    }

    func keep() throws {
        guard let path else { return }
        try state.withLock { state in
            defer { state = .ended }
            switch state {
            case .replacing(let descriptor, let temporary):
                // Only these calls may report that the disk is full.
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

    /// Removes the temporary file, even if a writer is still active.
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
        // The name of the final file is not added, because it may already have the maximum length.
        let temporary = "\(folder)/.turnpike-\(UUID().uuidString)"
        let mode = exists ? existing.st_mode & 0o7777 : 0o666
        let descriptor = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw Descriptor.failure("cannot write \(path)") }
        // The umask may have changed the mode, so the new file gets the mode of the existing file.
        if exists { fchmod(descriptor, mode) }
        return .replacing(descriptor: descriptor, temporary: temporary)
    }
}
