// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike
import TurnpikeCore
import TurnpikeStackFiles

/// The command `turnpike send`: one request, for interactive use.
enum SendCommand {
    /// Sends the request of the command line and prints the result.
    static func run(
        _ arguments: [String], _ terminal: Terminal, _ registry: Registry = .commandLine
    ) async -> Int32 {
        // Accepted anywhere, even as the value of an option, where nobody needs it.
        if arguments.contains("--help") || arguments == ["-h"] {
            return Help.show(.send, terminal)
        }
        if arguments.contains("--version") { return Help.showVersion(terminal) }
        do {
            var options = try SendOptions(arguments)
            try await options.askForPassword(terminal)
            let exchange = SendExchange(options, terminal)
            let client = try client(for: options, exchange.trace, registry)
            let status = await exchange.run(with: client)
            await client.shutdown()
            return terminal.ended(status, with: registry)
        } catch is CancellationError {
            return ExitCode.interrupted
        } catch {
            terminal.error((error as? ClientError)?.shownMessage ?? "\(error)")
            return ExitCode.of(error)
        }
    }

    private static func client(
        for options: SendOptions, _ trace: SendTrace?, _ registry: Registry
    ) throws -> Client {
        guard let path = options.stack else {
            let chosen = try SendTransport(options.transport)
            trace?.note("transport: \(chosen.description)")
            return Client(
                transport: chosen.transport,
                stack: Stack((trace.map { [$0] } ?? []) + stack(for: options).gates))
        }
        let file = try StackFile(contentsOf: URL(filePath: path))
        let client = try ConfiguredClient(
            file, registry: registry, serializers: .standard
        ).client
        if let trace {
            trace.note("stack: \(path)")
            client.replace(stack: Stack([trace] + client.stack.gates))
        }
        return client
    }

    // There is no deadline unless one is given, because a person sees a long transfer and can press
    // Ctrl-C, and an upload may take any time. A person who gives one is ready to wait that long for
    // an attempt. There is no validation, because a response is shown whatever its status.
    private static func stack(for options: SendOptions) -> Stack {
        let isPatient = options.content != .none || options.timeout != nil
        let patience: Stack = isPatient ? [] : [.attemptTimeout(.seconds(60))]
        return Stack([.redirect(), .retry()] + patience.gates + [.idleTimeout(), .limits()])
    }
}
