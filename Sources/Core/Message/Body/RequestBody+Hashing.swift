// SPDX-License-Identifier: Apache-2.0

public import TurnpikeSupport

extension SHA256 {
    /// Returns the digest of a request body, for example for a gate that signs the content.
    ///
    /// ```swift
    /// let hash = try await SHA256.digest(of: request.body)
    /// request.headers["X-Content-SHA256"] = hash.hexadecimal
    /// ```
    ///
    /// The body is read in chunks, and is never completely in memory. Files are read on threads
    /// that may block. The send reads the body again. If a file changes between the two reads, the
    /// digest does not match the sent content. The digest does not cover trailer fields.
    /// - Parameter body: The body, which must be readable more than once
    ///   (``TurnpikeCore/RequestBody/canOpenAgain``).
    /// - Returns: 32 bytes.
    /// - Throws: ``TurnpikeCore/ClientError/Code/bodyNotReplayable`` if the body can be read only
    ///   once. In this case, the method does not read the body. The method throws
    ///   ``TurnpikeCore/ClientError/Code/upload`` if a file cannot be read, the errors of the
    ///   body's stream, or `CancellationError`.
    public static func digest(of body: RequestBody) async throws -> Data {
        guard body.canOpenAgain else {
            throw ClientError(
                .bodyNotReplayable,
                "found a request body that can be read only once; expected a body that can be read"
                    + " again, first for its SHA-256 and then to be sent: data, a file, or a stream"
                    + " with `replayable: true`")
        }
        return try await body.read(into: SHA256()) { $0.update($1) }.finalize()
    }
}

extension RequestBody {
    // After this number of bytes (a few milliseconds of work), the task yields the thread.
    private static let promptBytes = 262_144

    /// Reads the whole body and adds each chunk to a value, such as a hash.
    ///
    /// Files are read on threads that may block.
    /// - Parameters:
    ///   - value: The initial value.
    ///   - add: Adds a chunk to the value.
    /// - Returns: The final value.
    /// - Throws: The errors of ``open()`` and of the reader, or `CancellationError`.
    public func read<Value: Sendable>(
        into value: Value, add: @escaping @Sendable (inout Value, Data) -> Void
    ) async throws -> Value {
        if let data = inMemory, data.count <= Self.promptBytes {
            var value = value
            add(&value, data)
            return value
        }
        if !keepsThread { return try await readThrough(into: value, add: add) }
        return try await BlockingExecutor.run { try await readThrough(into: value, add: add) }
    }

    private func readThrough<Value: Sendable>(
        into value: Value, add: @Sendable (inout Value, Data) -> Void
    ) async throws -> Value {
        var value = value
        let reader = try open()
        var unpaused = 0
        do {
            while let chunk = try await reader.next() {
                var rest = chunk
                while !rest.isEmpty {
                    try Task.checkCancellation()
                    let portion = rest.prefix(Self.promptBytes)
                    add(&value, portion)
                    rest = rest.dropFirst(portion.count)
                    unpaused += portion.count
                    guard unpaused >= Self.promptBytes else { continue }
                    unpaused = 0
                    // The task may run on the caller's thread, and a stream may never suspend.
                    await Task.yield()
                }
            }
        } catch {
            // If a cancellation ends a stream, the stream is shorter than the declared length.
            try Task.checkCancellation()
            throw error
        }
        // Many streams end without an error if their task is cancelled.
        try Task.checkCancellation()
        return value
    }

    // Whether a read may block a thread. A stream is the caller's code, and is read on the caller's
    // thread.
    private var keepsThread: Bool {
        switch source {
        case .stream, .empty, .fault: false
        case .data, .file: true
        case .parts(let parts): parts.contains(where: \.keepsThread)
        case .followed(let body, _): body.keepsThread
        }
    }
}
