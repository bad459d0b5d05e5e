import Foundation
import Synchronization
import Turnpike
import TurnpikeCore

/// The command `turnpike send`: one request, for interactive use.
enum SendCommand {
    /// Sends the request of the command line and prints the result.
    static func run(_ arguments: [String], _ terminal: Terminal) async -> Int32 {
        // Accepted anywhere, even as the value of an option, where nobody needs it.
        if arguments.contains("--help") || arguments == ["-h"] {
            return Help.show(.send, terminal)
        }
        do {
            let options = try SendOptions(arguments)
            let client = try client(for: options)
            let status = await SendExchange(options, terminal).run(with: client)
            await client.shutdown()
            return status
        } catch {
            terminal.error((error as? ClientError)?.shownMessage ?? "\(error)")
            return ExitCode.of(error)
        }
    }

    private static func client(for options: SendOptions) throws -> Client {
        guard let path = options.stack else { return Client(stack: stack(for: options)) }
        let file = try StackFile(contentsOf: URL(filePath: path))
        return try ConfiguredClient(file, registry: .commandLine, serializers: .standard).client
    }

    // There is no deadline, because a person sees a long transfer and can press Ctrl-C, and an
    // upload may take any time. There is no validation, because a response is shown whatever its
    // status.
    private static func stack(for options: SendOptions) -> Stack {
        let patience: Stack = options.content == .none ? [.attemptTimeout(.seconds(60))] : []
        return Stack([.redirect(), .retry()] + patience.gates + [.idleTimeout(), .limits()])
    }
}
