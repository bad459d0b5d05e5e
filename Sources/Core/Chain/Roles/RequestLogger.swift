// SPDX-License-Identifier: Apache-2.0

/// A gate that receives the events of the inner gates, in order.
///
/// The events contain no secrets. The logger must not block, and should write events through a
/// queue.
public protocol RequestLogger: Gate {
    /// Receives an event.
    func log(_ event: CallEvent)

    /// The maximum number of bytes of content that events may show; 0 by default.
    ///
    /// Events show request content in memory, and response content that the caller reads.
    var peekBytes: Int { get }

    /// Returns the logger for the events of one request; by default nil, for this logger.
    ///
    /// The framework calls this method when a request reaches the gate, in the task of the caller
    /// and before the first event. Later events may arrive in other tasks, which read or release
    /// the body. If a logger needs task-local values of the caller, the logger returns a new logger
    /// with the values.
    func loggerForPass() -> (any RequestLogger)?
}

extension RequestLogger {
    /// 0 by default: events show no content.
    public var peekBytes: Int { 0 }

    /// Nil by default: this logger receives the events.
    public func loggerForPass() -> (any RequestLogger)? { nil }
}
