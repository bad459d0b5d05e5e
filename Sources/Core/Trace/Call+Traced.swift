extension Call {
    /// Records where the time of the call goes, for ``trace``.
    ///
    /// ```swift
    /// let call = client.get("users/1").traced()
    /// defer { show(call.trace) }
    /// let user = try await call.decode(User.self)
    /// ```
    ///
    /// Any terminal will do, and a call that fails has its trace as well. Copies of the call that are
    /// made afterwards share the trace.
    /// - Parameter redaction: What is hidden in the trace.
    /// - Returns: A call that is recorded whenever it is sent.
    public func traced(redaction: Redaction = .standard) -> Call {
        var copy = self
        copy.recording = CallRecording(redaction)
        return copy
    }

    /// Where the time of this call went, as far as it has come; nil if the call is not
    /// ``traced(redaction:)`` or was not sent yet.
    ///
    /// It is the trace of the last send, if a terminal sends the call several times, as a download
    /// that is resumed does. A body that is read after the call has returned is part of it: ask again
    /// once the body has ended (``Trace/isComplete``).
    public var trace: Trace? { recording?.trace }
}

/// The recorder of the last send of a traced call.
final class CallRecording: Sendable {
    let redaction: Redaction

    init(_ redaction: Redaction) { self.redaction = redaction }

    var trace: Trace? { nil }
}
