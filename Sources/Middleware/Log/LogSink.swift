// SPDX-License-Identifier: Apache-2.0

/// Where log lines go.
///
/// Writing must not block: a sink that may have to wait has a bounded queue, and drops lines that
/// do not fit.
public protocol LogSink: Sendable {
    /// Takes a line, without its line break.
    func write(_ line: String)

    /// Returns when all lines queued so far are written.
    ///
    /// Called when a client is shut down, but not when a process exits without that. A sink with a
    /// queue of its own takes care of such an exit, as ``LineSink`` does, for instance with `atexit`.
    func flush() async
}
