import Dispatch
import Foundation

/// Compares clients.
///
/// `peers [--json] [--only W2,…] [--clients curl,…] [--rounds N] [--seconds S] [--svg FILE]`, or
/// `peers instructions [--json] [--clients curl,…]`
@main
enum Peers {
    // Blocking: a tool that watches the process ends where the main thread does.
    static func main() {
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            do {
                let arguments = Array(CommandLine.arguments.dropFirst())
                let rest = Array(arguments.dropFirst())
                switch arguments.first {
                case PeerRun.subcommand: try await PeerRun(rest).run()
                case Instructions.subcommand: try await Instructions.send(rest)
                case "instructions": try Instructions(rest).run()
                default: try PeersBench(arguments).run()
                }
            } catch {
                FileHandle.standardError.write(Data("peers: \(error)\n".utf8))
                exit(1)
            }
            done.signal()
        }
        done.wait()
        exit(0)
    }
}
