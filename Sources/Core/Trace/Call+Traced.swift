// SPDX-License-Identifier: Apache-2.0

import Synchronization

extension Call {
    /// Records the time of each part of the call, for ``trace``.
    ///
    /// ```swift
    /// let call = client.get("users/1").traced()
    /// defer { show(call.trace) }
    /// let user = try await call.decode(User.self)
    /// ```
    ///
    /// Any terminal method will do, and a call that fails has its trace as well. Copies of the call
    /// that are made afterwards share the trace.
    /// - Parameter redaction: What is hidden in the trace.
    /// - Returns: A call that is recorded whenever it is sent.
    public func traced(redaction: Redaction = .standard) -> Call {
        var copy = self
        copy.recording = CallRecording(redaction)
        return copy
    }

    /// The trace of this call so far; nil if the call is not
    /// ``traced(redaction:)`` or was not sent yet.
    ///
    /// It is the trace of the last send if the call is sent several times, by its caller or by a
    /// terminal such as a download that resumes. A body that is read after the call has returned is
    /// part of the trace: ask again once the body has ended (``Trace/isComplete``).
    public var trace: Trace? { recording?.last?.trace }
}

/// The recorder of the last send of a traced call.
final class CallRecording: Sendable {
    let redaction: Redaction
    private let state = Mutex<TraceRecorder?>(nil)

    init(_ redaction: Redaction) { self.redaction = redaction }

    var last: TraceRecorder? {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}
