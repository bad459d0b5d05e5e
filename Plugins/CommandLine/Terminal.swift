package import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Where a command reads and writes, so that tests can stand in for a terminal.
package struct Terminal: Sendable {
    /// Takes what the command was asked for.
    package var output: @Sendable (Data) throws -> Void
    /// Takes what a person reads beside it.
    package var messages: @Sendable (String) -> Void
    /// Reads bytes of the input, up to a number, as soon as there are any; none at its end.
    package var input: @Sendable (_ maxBytes: Int) throws -> Data
    /// Whether the output is a terminal, too.
    package var outputIsTerminal: Bool
    /// The width of the terminal that shows the messages; nil where it is none.
    package var columns: Int?

    /// Creates a terminal.
    package init(
        output: @escaping @Sendable (Data) throws -> Void,
        messages: @escaping @Sendable (String) -> Void,
        input: @escaping @Sendable (_ maxBytes: Int) throws -> Data = { _ in Data() },
        outputIsTerminal: Bool = false, columns: Int? = nil
    ) {
        self.output = output
        self.messages = messages
        self.input = input
        self.outputIsTerminal = outputIsTerminal
        self.columns = columns
    }

    /// Writes a line for a person.
    package func error(_ text: String) { messages("turnpike: \(text)\n") }

    /// Writes a line of output.
    package func line(_ text: String) throws { try output(Data((text + "\n").utf8)) }

    /// Tells that the output could not be written or the input could not be read.
    ///
    /// A reader that has gone is not told: whoever closed the pipe knows.
    /// - Returns: The exit status.
    package func ended(by error: any Error) -> Int32 {
        if (error as? OutputError)?.isBrokenPipe != true { self.error("\(error)") }
        return ExitCode.of(error)
    }

    /// The three descriptors of the process.
    package static var standard: Terminal {
        Terminal(
            output: { try Descriptor.put($0, to: 1) },
            messages: { try? Descriptor.put(Data($0.utf8), to: 2) },
            input: { try Descriptor.take($0, from: 0) },
            outputIsTerminal: isatty(1) == 1, columns: isatty(2) == 1 ? width() : nil)
    }

    private static func width() -> Int {
        var size = winsize()
        let code = unsafe ioctl(2, UInt(TIOCGWINSZ), &size)
        return code == 0 && size.ws_col > 0 ? Int(size.ws_col) : 80
    }
}

/// Why the output of a command could not be written, or its input not be read.
package struct OutputError: Error, CustomStringConvertible {
    /// What happened.
    package let description: String
    /// Whether it is only that nobody reads any more.
    package let isBrokenPipe: Bool

    /// Creates an error.
    package init(description: String, isBrokenPipe: Bool = false) {
        self.description = description
        self.isBrokenPipe = isBrokenPipe
    }
}

/// Reads and writes of whole buffers.
enum Descriptor {
    /// Opens the null device in the place of each standard descriptor that the process was started
    /// without.
    ///
    /// Else the next file or socket that is opened gets its number, and is taken for the input or
    /// the output. The null device is opened the wrong way round for input and output, so that each
    /// use fails: an answer that nobody can get is an error.
    static func openMissing() {
        for (descriptor, flags) in [(0, O_WRONLY), (1, O_RDONLY), (2, O_WRONLY)] as [(Int32, Int32)]
        where fcntl(descriptor, F_GETFD) < 0 && errno == EBADF {
            // The lowest free number, which is this one: those below are open.
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

    // Whether what has just failed may be tried again. Whoever else has the descriptor may have made
    // it non-blocking, as other runtimes do: then this waits until something can be done.
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
