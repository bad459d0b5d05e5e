/// Where log lines go.
///
/// Writing must not block: a sink that may have to wait has a bounded queue, and drops lines that
/// do not fit.
public protocol LogSink: Sendable {
    /// Takes a line, without its line break.
    func write(_ line: String)

    /// Returns when all lines queued so far are written.
    func flush() async
}
