// SPDX-License-Identifier: Apache-2.0

/// A gate that receives the events of its part of the chain, in order.
///
/// Events arrive redacted. The logger must not block; to write events, it should use a queue.
public protocol RequestLogger: Gate {
    /// Receives an event.
    func log(_ event: CallEvent)

    /// The number of bytes of content that events may show; 0 by default.
    ///
    /// Events show request content in memory, and response content that the caller reads.
    var peekBytes: Int { get }

    /// Returns the logger for the events of one request, or nil (the default) for this logger.
    ///
    /// Called when a request reaches the gate, in the task of its caller and before the first
    /// event. Later events may arrive in other tasks, which read or drop the body. If a logger
    /// needs task-local values of the caller, it returns a logger that holds them.
    func loggerForPass() -> (any RequestLogger)?
}

extension RequestLogger {
    /// 0: no content is shown.
    public var peekBytes: Int { 0 }

    /// Nil: this logger receives the events.
    public func loggerForPass() -> (any RequestLogger)? { nil }
}
