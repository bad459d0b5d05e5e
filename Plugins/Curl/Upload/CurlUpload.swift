// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TurnpikeCore

/// A request's content, as libcurl asks for it.
///
/// Content in memory is copied from there. A task reads files and streams into a bounded pipe, so a
/// turn of the loop never waits for a disk or a sequence.
// SAFETY: `reader` and `onReady` are set before an engine has the transfer; from then on they and
// `position` are touched under the engine's lock alone.
final class CurlUpload: @unchecked Sendable {
    enum Portion {
        case bytes(Int)
        case wait
        case failed
    }

    private let body: RequestBody
    private let data: Data?
    private let context: Context
    private let pipe = Mutex<UploadPipe?>(nil)
    private let sent = Atomic<Int64>(0)
    // The first reading, until it starts.
    private var reader: RequestBodyReader?
    private var onReady: @Sendable () -> Void = {}
    private var position = 0

    /// The number of bytes; nil if it is not known, or if trailer fields follow.
    let length: Int64?

    /// Opens the body.
    /// - Throws: The errors of ``/TurnpikeCore/RequestBody/open()``.
    init(_ body: RequestBody, context: Context) throws {
        self.body = body
        self.context = context
        data = body.inMemory
        if let data {
            length = Int64(data.count)
        } else {
            length = body.hasTrailers ? nil : body.length
            reader = try body.open()
        }
    }

    /// Begins to read the content.
    /// - Parameter onReady: Called when there is something to read again.
    func start(_ onReady: @escaping @Sendable () -> Void) {
        guard let reader = reader.take() else { return }
        self.onReady = onReady
        start(UploadPipe(reader, onFill: onReady))
    }

    private func start(_ fresh: UploadPipe) {
        let old = pipe.withLock { pipe in
            defer { pipe = fresh }
            return pipe
        }
        old?.close()
        fresh.start()
    }

    /// The most bytes that any one send has handed to the connection.
    var bytesSent: Int64 { sent.load(ordering: .relaxed) }

    /// The error, if the content cannot be sent.
    var fault: (any Error)? { pipe.withLock { $0 }?.fault }

    /// The lines that follow the content, once all of it was read.
    var trailerLines: [String] {
        let trailers = pipe.withLock { $0 }?.trailers ?? [:]
        return trailers.map { "\($0.name.rawValue): \($0.value)" }
    }

    func close() { pipe.withLock { $0 }?.close() }

    // MARK: From libcurl, under the engine's lock

    func read(into target: UnsafeMutableRawBufferPointer) -> Portion {
        let portion: Portion
        if let data {
            let count = min(target.count, data.count - position)
            let start = data.startIndex + position
            unsafe data.copyBytes(to: target, from: start..<start + count)
            portion = .bytes(count)
        } else if let pipe = pipe.withLock({ $0 }) {
            portion = unsafe pipe.read(into: target)
        } else {
            portion = .failed
        }
        guard case .bytes(let count) = portion, count > 0 else { return portion }
        position += count
        let total = max(Int64(position), bytesSent)
        sent.store(total, ordering: .relaxed)
        context.report(.sent(bytes: Int64(position)))
        return portion
    }

    /// Whether ``reopen()`` can make the content start again.
    var canReopen: Bool { isAtStart || data != nil || body.isReplayable }

    // Nothing was taken of it yet.
    private var isAtStart: Bool { position == 0 }

    /// Makes the content start again, in a task if it must be opened anew: then `onReady` is called
    /// when it ``isOpen``.
    func reopen() {
        if isAtStart { return }
        position = 0
        if data != nil { return }
        start(UploadPipe(opening: body, onFill: onReady))
    }

    /// Whether the content is there to be read, or never will be.
    var isOpen: Bool { pipe.withLock { $0 }?.isOpen ?? true }
}
