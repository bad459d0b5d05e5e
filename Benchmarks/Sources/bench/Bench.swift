import Foundation

/// Runs a benchmark: `bench SUBCOMMAND [--json]`.
@main
enum Bench {
    static func main() async throws {
        var arguments = Array(CommandLine.arguments.dropFirst())
        let json = arguments.contains("--json")
        arguments.removeAll { $0 == "--json" }
        let report = Report(json: json)
        let rest = Array(arguments.dropFirst())
        switch arguments.first {
        case "chain": try await ChainBench.run(report)
        case "gates": try await GatesBench.run(report)
        case "loopback": try LoopbackBench(rest).run(report)
        // What `loopback` starts in processes of their own.
        case LoopbackServer.subcommand: try LoopbackServer.run()
        case LoopbackClient.subcommand: try await LoopbackClient(rest).run()
        default:
            print(
                """
                usage: bench chain [--json]
                       bench gates [--json]
                       bench loopback [--url URL] [--rounds N] [--seconds S] [--json]
                """
            )
            exit(2)
        }
    }
}
