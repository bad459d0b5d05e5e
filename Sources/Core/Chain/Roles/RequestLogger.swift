/// A gate that receives the events of its part of the chain, in order.
///
/// Events are redacted before they arrive. The logger must not block; one that writes should use a
/// queue.
public protocol RequestLogger: Gate {
    /// Receives an event.
    func log(_ event: CallEvent)

    /// How many bytes of content events may show: of request content in memory, and of response
    /// content as the caller reads it.
    ///
    /// 0 by default.
    var peekBytes: Int { get }
}

extension RequestLogger {
    /// 0: no content is shown.
    public var peekBytes: Int { 0 }
}
