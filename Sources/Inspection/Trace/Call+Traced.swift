// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore

extension Call {
    /// Records the time of each part of the call, for ``trace``.
    ///
    /// ```swift
    /// let call = client.get("users/1").traced()
    /// defer { show(call.trace) }
    /// let user = try await call.decode(User.self)
    /// ```
    ///
    /// All methods that send the call record the trace, and a failed call also has a trace. Later
    /// copies of the call share the trace.
    /// - Parameter redaction: The rules for hiding secrets in the trace.
    /// - Returns: A call that records each send.
    public func traced(redaction: Redaction = .standard) -> Call {
        var copy = self
        copy.readers.removeAll { $0 is CallRecording }
        copy.readers.append(CallRecording(redaction))
        return copy
    }

    /// The trace of this call so far; nil if the call is not ``traced(redaction:)`` or was not sent
    /// yet.
    ///
    /// If the call is sent several times, for example by a download that resumes, this is the trace
    /// of the last send. The trace includes a body that the caller reads later. Read the property
    /// again after the end of the body (``Trace/isComplete``).
    public var trace: Trace? {
        for case let recording as CallRecording in readers { return recording.last?.trace }
        return nil
    }
}

final class CallRecording: CallReader {
    let redaction: Redaction
    private let state = Mutex<TraceRecorder?>(nil)

    init(_ redaction: Redaction) { self.redaction = redaction }

    var last: TraceRecorder? { state.withLock { $0 } }

    func read(_ step: CallStep, in context: Context) {}

    func reader(beside others: [any CallReader]) -> (any CallReader)? {
        let present = others.lazy.compactMap { $0 as? TraceRecorder }.first
        let recorder = present ?? TraceRecorder()
        recorder.serve(self)
        state.withLock { $0 = recorder }
        return present == nil ? recorder : nil
    }
}
