import Foundation
import Turnpike

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The command `turnpike exec | send | check`.
@main
struct TurnpikeCommand {
    static func main() async {
        // A reader that goes away is an error to be told, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        dropProxyEnvironment()
        let arguments = Array(CommandLine.arguments.dropFirst())
        let rest = Array(arguments.dropFirst())
        switch arguments.first {
        case "exec": exit(await ExecCommand.run(rest))
        case "send": exit(await SendCommand.run(rest))
        case "check": exit(CheckCommand.run(rest))
        case nil, "help", "--help", "-h":
            print(Help.text)
        default:
            Console.error("there is no command \"\(arguments[0])\"; turnpike --help lists them")
            exit(ExitCode.usage)
        }
    }

    // libcurl, and so URLSession on Linux, sends requests to proxies that the environment names,
    // credentials included. A proxy is a setting of a transport; the environment is not asked.
    private static func dropProxyEnvironment() {
        for name in ["http_proxy", "https_proxy", "all_proxy", "no_proxy", "ftp_proxy"] {
            unsafe unsetenv(name)
            unsafe unsetenv(name.uppercased())
        }
    }
}

/// What the process says of its end.
enum ExitCode {
    static let success: Int32 = 0
    /// The request failed on its way, or its answer was refused.
    static let failure: Int32 = 1
    /// The command line or a file is wrong.
    static let usage: Int32 = 2
    /// No connection: name, network, TLS.
    static let connection: Int32 = 3
    /// Out of time.
    static let timeout: Int32 = 4
    /// The answer was refused, by its status or type.
    static let refused: Int32 = 5
    /// The answer broke off, or is no HTTP, or is too large.
    static let broken: Int32 = 6
    /// A file could not be read or written.
    static let file: Int32 = 7
    /// Ended by Ctrl-C.
    static let interrupted: Int32 = 130

    static func of(_ error: any Error) -> Int32 {
        if error is CancellationError { return interrupted }
        switch (error as? ClientError)?.code {
        case .invalidRequest, .configuration, .unsupported: return usage
        case .connection, .dns, .tls: return connection
        case .deadlineExceeded, .attemptTimeout, .idleTimeout, .connectTimeout: return timeout
        case .validation, .auth, .redirect, .urlPolicy: return refused
        case .protocol, .incomplete, .tooLarge, .decompression, .serialization: return broken
        case .download, .upload: return file
        default: return failure
        }
    }
}

/// What a person reads.
enum Console {
    static func error(_ text: String) {
        try? FileHandle.standardError.write(contentsOf: Data("turnpike: \(text)\n".utf8))
    }

    static func write(_ data: Data) throws { try FileHandle.standardOutput.write(contentsOf: data) }
}
