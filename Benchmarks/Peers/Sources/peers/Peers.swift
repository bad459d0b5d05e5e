// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation

/// Compares clients.
///
/// `peers [--json] [--only W2,…] [--clients curl,…] [--rounds N] [--seconds S] [--svg FILE]`,
/// `peers instructions [--json] [--clients curl,…]`, or `peers chart FILE… [--svg FILE]`
@main
enum Peers {
    // This blocks the main thread, because tools that watch the process end with it.
    static func main() {
        Cleanup.onInterruption()
        let done = DispatchSemaphore(value: 0)
        // This task ends with the process, which waits for it.
        Task.detached {
            do {
                let arguments = Array(CommandLine.arguments.dropFirst())
                let rest = Array(arguments.dropFirst())
                switch arguments.first {
                case PeerRun.subcommand: try await PeerRun(rest).run()
                case Instructions.subcommand: try await Instructions.send(rest)
                case "instructions": try Instructions(rest).run()
                case "chart": try PeersChart(rest).run()
                default: try PeersBench(arguments).run()
                }
            } catch {
                note("\(error)")
                exit(1)
            }
            done.signal()
        }
        done.wait()
        exit(0)
    }
}
