// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation

/// Runs a benchmark: `bench SUBCOMMAND [--json]`.
///
/// With `--check`, an exceeded bound is a failure.
@main
enum Bench {
    // Blocks the main thread. An asynchronous main would end it, and valgrind with it.
    static func main() {
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            do {
                try await run()
            } catch {
                FileHandle.standardError.write(Data("bench: \(error)\n".utf8))
                exit(1)
            }
            done.signal()
        }
        done.wait()
    }

    private static func run() async throws {
        var arguments = Array(CommandLine.arguments.dropFirst())
        let json = arguments.contains("--json")
        arguments.removeAll { $0 == "--json" }
        let isCheck = ["cache", "fleet"].contains(arguments.first) && arguments.contains("--check")
        if isCheck { arguments.removeAll { $0 == "--check" } }
        let report = Report(json: json)
        let rest = Array(arguments.dropFirst())
        switch arguments.first {
        case "cache": try await CacheBench.run(report)
        case "chain": try await ChainBench.run(report, only: Set(rest))
        case "gates": try await GatesBench.run(report, only: Set(rest))
        case "endpoints": try await EndpointListsBench.run(report)
        case "fleet-cache": try await FleetCache.run(report)
        case "fleet": try await FleetBench.run(report, only: Set(rest))
        case "bridges": try NestedPackage.bridges.run(rest)
        case "peers": try NestedPackage.peers.run(rest + (json ? ["--json"] : []))
        case "instructions":
            try NestedPackage.peers.run(["instructions"] + rest + (json ? ["--json"] : []))
        case "loopback": try LoopbackBench(rest).run(report)
        case "sockets": try SocketsBench.run(report)
        case "values": try await ValuesBench.run(report)
        // Subcommands that `loopback` and `sockets` run in separate processes.
        case LoopbackServer.subcommand: try LoopbackServer.run()
        case LoopbackClient.subcommand: try await LoopbackClient(rest).run()
        case SocketsBench.serverSubcommand: try SocketsBench.serve()
        case SocketClient.subcommand: try await SocketClient.run(rest)
        default:
            print(
                """
                usage: bench cache [--check] [--json]
                           bench chain [CASE…] [--json]
                           bench gates [GATE…] [--json]
                           bench endpoints [--json]
                           bench fleet-cache [--json]
                           bench fleet [limit] [roundTrip] [--check] [--json]
                           bench bridges
                           bench peers [--only W2,…] [--clients curl,…] [--rounds N]
                                       [--seconds S] [--svg FILE] [--json]
                           bench peers chart FILE… [--svg FILE]
                           bench instructions [--clients curl,…] [--json]
                           bench sockets [--json]
                           bench values [--json]
                           bench loopback [--url URL] [--rounds N] [--seconds S] [--json]
                """
            )
            exit(2)
        }
        guard isCheck, !report.missedBounds.isEmpty else { return }
        let text = report.missedBounds.map { "bench: \($0)\n" }.joined()
        FileHandle.standardError.write(Data(text.utf8))
        exit(1)
    }
}
