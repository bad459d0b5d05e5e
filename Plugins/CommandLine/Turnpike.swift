import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The command `turnpike exec | send | check | explain | cache`.
@main
struct TurnpikeCommand {
    static func main() async {
        // Before any other descriptor is opened.
        Descriptor.openMissing()
        // A closed output must be an error, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        dropProxyEnvironment()
        let arguments = Array(CommandLine.arguments.dropFirst())
        // What only computes has nothing to cancel or to clean up: a signal ends it at once.
        if ["check", "explain"].contains(arguments.first) {
            exit(await run(arguments, .standard))
        }
        exit(await Interruption.run { await run(arguments, .standard) })
    }

    /// Runs a command line.
    static func run(_ arguments: [String], _ terminal: Terminal) async -> Int32 {
        let rest = Array(arguments.dropFirst())
        switch arguments.first {
        case "exec": return await ExecCommand.run(rest, terminal)
        case "send": return await SendCommand.run(rest, terminal)
        case "check": return CheckCommand.run(rest, terminal)
        case "explain": return ExplainCommand.run(rest, terminal)
        case "cache": return await CacheCommand.run(rest, terminal)
        case nil, "help", "--help", "-h": return Help.show(.overview, terminal)
        case "--version": return Help.showVersion(terminal)
        default:
            let hint = NearMissCommand.hint(for: arguments[0])
            terminal.error("there is no command \"\(arguments[0])\"\(hint)")
            return ExitCode.usage
        }
    }

    /// The proxy variables at the start of the command, for transports that are configured to use
    /// them.
    static let proxyVariables = ProcessInfo.processInfo.environment.filter { name, _ in
        name.lowercased().hasSuffix("_proxy")
    }

    // URLSession on Linux would send requests, including credentials, to the proxies in the
    // environment. A proxy must be configured for a transport.
    private static func dropProxyEnvironment() {
        for name in proxyVariables.keys { unsafe unsetenv(name) }
    }
}
