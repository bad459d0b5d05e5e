// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeStackFiles
import TurnpikeSupport

/// The input and output of a command; tests replace these objects.
struct Terminal: Sendable {
    var output: @Sendable (Data) throws -> Void
    var messages: @Sendable (String) -> Void
    /// Reads up to `maxBytes` bytes of the input as soon as any are available; no bytes at the end.
    var input: @Sendable (_ maxBytes: Int) throws -> Data = { _ in Data() }
    var outputIsTerminal = false
    /// Whether the output is a terminal that shows colors, and the user wants colors.
    var hasColor = false
    /// Whether the messages go to a terminal that shows colors, and the user wants colors.
    var messagesHaveColor = false
    /// The width of the terminal that shows the messages; nil without a terminal.
    var columns: Int?
    /// Asks for a password with a prompt, without showing what the user types.
    var password: @Sendable (_ prompt: String) async throws -> String = { _ in
        throw PasswordPrompt.noTerminal
    }

    /// Writes a message; escapes control characters, because a peer may have sent these characters.
    func error(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let shown = lines.map { Grammar.escaped(String($0)) }.joined(separator: "\n")
        messages("turnpike: \(shown)\n")
    }

    func line(_ text: String) throws { try output(Data((text + "\n").utf8)) }

    /// Reports an error of input or output, and returns the exit status.
    ///
    /// A broken pipe is not reported, because the reader closed the pipe on purpose.
    func ended(by error: any Error) -> Int32 {
        if (error as? OutputError)?.isBrokenPipe != true { self.error("\(error)") }
        return ExitCode.of(error)
    }

    /// Reports each log or metrics file of a stack file that could not be written.
    ///
    /// Call this method after the clients have shut down. If a file is missing, the status
    /// ``ExitCode/file`` replaces success.
    func ended(_ status: Int32, with registry: Registry) -> Int32 {
        let faults = registry.unwrittenFiles
        for fault in faults { error(fault) }
        return faults.isEmpty || status != ExitCode.success ? status : ExitCode.file
    }

    static var standard: Terminal {
        Terminal(
            output: { try Descriptor.put($0, to: 1) },
            messages: { try? Descriptor.put(Data($0.utf8), to: 2) },
            input: { try Descriptor.take($0, from: 0) },
            outputIsTerminal: isatty(1) == 1,
            hasColor: isatty(1) == 1 && wantsColor(ProcessInfo.processInfo.environment),
            messagesHaveColor: isatty(2) == 1
                && wantsColor(ProcessInfo.processInfo.environment),
            columns: isatty(2) == 1 ? width() : nil, password: PasswordPrompt.ask)
    }

    /// The variables `NO_COLOR` (no-color.org) and `TERM` may turn colors off.
    static func wantsColor(_ environment: [String: String]) -> Bool {
        environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }

    private static func width() -> Int {
        var size = winsize()
        let code = unsafe ioctl(2, UInt(TIOCGWINSZ), &size)
        return code == 0 && size.ws_col > 0 ? Int(size.ws_col) : 80
    }
}

/// An error of writing the output or reading the input.
struct OutputError: Error, CustomStringConvertible {
    let description: String
    /// Whether the reader of the output has closed the pipe.
    var isBrokenPipe = false
}

enum Descriptor {
    /// Opens the null device for each standard descriptor that is missing at the start.
    ///
    /// If a standard descriptor stayed missing, the next opened file or socket would get the
    /// descriptor's number and be used as input or output. The null device is opened with the wrong
    /// access mode on purpose, because a read or write of a missing descriptor must fail.
    static func openMissing() {
        for (descriptor, flags) in [(0, O_WRONLY), (1, O_RDONLY), (2, O_WRONLY)] as [(Int32, Int32)]
        where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
            // All lower descriptors are open, and the new descriptor therefore gets this number.
            _ = unsafe open("/dev/null", flags)
        }
    }

    static func put(_ data: Data, to descriptor: Int32, as name: String = "the output") throws {
        try unsafe data.withUnsafeBytes { bytes in
            var rest = unsafe bytes[...]
            while unsafe !rest.isEmpty {
                let part = unsafe UnsafeRawBufferPointer(rebasing: rest)
                let count = unsafe write(descriptor, part.baseAddress, part.count)
                if count < 0 {
                    if wait(for: POLLOUT, on: descriptor) { continue }
                    throw failure("cannot write \(name)")
                }
                unsafe rest = rest.dropFirst(count)
            }
        }
    }

    static func take(_ maxBytes: Int, from descriptor: Int32) throws -> Data {
        var data = Data(count: maxBytes)
        let count = try unsafe data.withUnsafeMutableBytes { bytes in
            while true {
                let count = unsafe read(descriptor, bytes.baseAddress, bytes.count)
                if count >= 0 { return count }
                if !wait(for: POLLIN, on: descriptor) { throw failure("cannot read the input") }
            }
        }
        return data.prefix(count)
    }

    // Whether the failed operation may be repeated. If another process has made the shared
    // descriptor non-blocking, waits until the descriptor is ready.
    private static func wait(for event: Int32, on descriptor: Int32) -> Bool {
        if errno == EINTR { return true }
        guard errno == EAGAIN else { return false }
        var request = pollfd(fd: descriptor, events: Int16(event), revents: 0)
        return unsafe poll(&request, 1, -1) >= 0 || errno == EINTR
    }

    static func failure(_ what: String) -> OutputError {
        let code = errno
        let reason = unsafe String(cString: strerror(code))
        return OutputError(description: "\(what): \(reason)", isBrokenPipe: code == EPIPE)
    }
}
