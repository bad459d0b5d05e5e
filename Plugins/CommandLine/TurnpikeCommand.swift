// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeCore
public import TurnpikeStackFiles
import TurnpikeSupport

/// The command `turnpike exec | send | check | explain | status | cache`, for programs that add
/// transports and gates.
///
/// ```swift
/// import TurnpikeAsyncHTTPClient
/// import TurnpikeCommandLine
///
/// @main
/// struct Program {
///     static func main() async {
///         await TurnpikeCommand.main { $0.registerAsyncHTTPClient() }
///     }
/// }
/// ```
public enum TurnpikeCommand {
    /// Runs the command with the arguments of the process, and ends the process with its status.
    ///
    /// Call this method first. It replaces missing standard descriptors, ignores the signal of a
    /// broken pipe, lets `SIGINT` and `SIGTERM` end the current work, and removes the proxy
    /// variables from the environment.
    /// - Parameter register: Adds names for stack files; `check`, `explain`, `exec` and `send
    ///   --stack` accept all these names.
    public static func main(
        registering register: (inout Registry) -> Void = { _ in }
    ) async -> Never {
        // No other descriptor may be opened before this call.
        Descriptor.openMissing()
        // A closed output must cause an error instead of ending the process.
        signal(SIGPIPE, SIG_IGN)
        dropProxyEnvironment()
        let arguments = Array(CommandLine.arguments.dropFirst())
        var registry = Registry.commandLine
        register(&registry)
        // A signal ends a command that only computes at once, because nothing must be cleaned up.
        if ["check", "explain", "status"].contains(arguments.first) {
            exit(await run(arguments, .standard, registry))
        }
        exit(await Interruption.run { [registry] in await run(arguments, .standard, registry) })
    }

    static func run(
        _ arguments: [String], _ terminal: Terminal, _ registry: Registry
    ) async -> Int32 {
        let rest = Array(arguments.dropFirst())
        switch arguments.first {
        case "exec": return await ExecCommand.run(rest, terminal, registry)
        case "send": return await SendCommand.run(rest, terminal, registry)
        case "check": return CheckCommand.run(rest, terminal, registry)
        case "explain": return ExplainCommand.run(rest, terminal, registry)
        case "status": return StatusCommand.run(rest, terminal)
        case "cache": return await CacheCommand.run(rest, terminal)
        case nil, "help", "--help", "-h": return Help.show(.overview, terminal)
        case "--version": return Help.showVersion(terminal)
        default:
            let hint = NearMissCommand.hint(for: arguments[0])
            terminal.error("there is no command \"\(arguments[0])\"\(hint)")
            return ExitCode.usage
        }
    }

    /// The proxy variables at the start of the command, for transports that use the variables.
    static let proxyVariables = ProcessInfo.processInfo.environment.filter { name, _ in
        name.lowercased().hasSuffix("_proxy")
    }

    // URLSession on Linux would send requests, including credentials, to the proxies in the
    // environment. A proxy must be configured for a transport.
    private static func dropProxyEnvironment() {
        for name in proxyVariables.keys { unsafe unsetenv(name) }
    }
}

/// The exit statuses of the command.
enum ExitCode {
    /// A response arrived and was accepted.
    static let success: Int32 = 0
    /// The request failed for a reason without a separate status.
    static let failure: Int32 = 1
    /// The command line, the request or a stack file is wrong.
    static let usage: Int32 = 2
    /// Name resolution, the network or TLS failed, and there was no connection.
    static let connection: Int32 = 3
    /// A time limit was reached.
    static let timeout: Int32 = 4
    /// The response was rejected because of the status or the type.
    static let refused: Int32 = 5
    /// The response was incomplete, malformed or too large.
    static let broken: Int32 = 6
    /// A file could not be read or written.
    static let file: Int32 = 7
    /// Interrupted by Ctrl-C: 128 plus the signal number.
    static let interrupted: Int32 = 130

    static func of(_ error: any Error) -> Int32 {
        if error is CancellationError { return interrupted }
        if error is OutputError { return file }
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
