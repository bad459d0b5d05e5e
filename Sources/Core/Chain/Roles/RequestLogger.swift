// SPDX-License-Identifier: Apache-2.0

/// A gate that receives the events of its part of the chain, in order.
///
/// Events are redacted before they arrive. The logger must not block; one that writes should use a
/// queue.
public protocol RequestLogger: Gate {
    /// Receives an event.
    func log(_ event: CallEvent)

    /// The number of bytes of content that events may show: of request content in memory, and of
    /// response content that the caller reads.
    ///
    /// 0 by default.
    var peekBytes: Int { get }

    /// Returns the logger that receives the events of one pass, or nil for this one.
    ///
    /// Called when a request reaches the gate, in the task of its caller and before the first event.
    /// Later events may arrive in other tasks: the task that reads the body, or the task that drops
    /// it. A logger that needs task-local values of the caller returns one that holds them. Nil by
    /// default.
    func loggerForPass() -> (any RequestLogger)?
}

extension RequestLogger {
    /// 0: no content is shown.
    public var peekBytes: Int { 0 }

    /// Nil: this logger receives the events.
    public func loggerForPass() -> (any RequestLogger)? { nil }
}
