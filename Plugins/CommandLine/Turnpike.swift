import Foundation

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The command `turnpike exec | send | check | cache`.
@main
struct TurnpikeCommand {
    static func main() async {
        // Before anything else is opened.
        Descriptor.openMissing()
        // A reader that goes away is an error to be told, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        dropProxyEnvironment()
        let arguments = Array(CommandLine.arguments.dropFirst())
        exit(await Interruption.run { await run(arguments, .standard) })
    }

    /// Runs a command line.
    static func run(_ arguments: [String], _ terminal: Terminal) async -> Int32 {
        let rest = Array(arguments.dropFirst())
        switch arguments.first {
        case "exec": return await ExecCommand.run(rest, terminal)
        case "send": return await SendCommand.run(rest, terminal)
        case "check": return CheckCommand.run(rest, terminal)
        case "cache": return await CacheCommand.run(rest, terminal)
        case nil, "help", "--help", "-h": return Help.show(.overview, terminal)
        default:
            let hint = NearMissCommand.hint(for: arguments[0])
            terminal.error("there is no command \"\(arguments[0])\"\(hint)")
            return ExitCode.usage
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
