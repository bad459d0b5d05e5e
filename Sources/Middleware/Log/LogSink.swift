/// Where log lines go.
///
/// Writing must not block: a sink that may wait has a bounded queue, and drops what does not fit.
public protocol LogSink: Sendable {
    /// Takes a line, without its line break.
    func write(_ line: String)

    /// Returns when all lines taken so far are out.
    func flush() async
}
