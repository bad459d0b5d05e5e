import Foundation
import Synchronization
import Turnpike
import TurnpikeCore

/// The command `turnpike send`: one request, for a person.
package enum SendCommand {
    /// Sends what the arguments say and tells what came of it.
    package static func run(_ arguments: [String], _ terminal: Terminal) async -> Int32 {
        // Anywhere but as the value of an option, and that is a value that nobody needs.
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

    // A person sees that something takes long, and has Ctrl-C; so there is no deadline, and what
    // is uploaded takes its time. An answer is shown whatever its status, so nothing validates.
    private static func stack(for options: SendOptions) -> Stack {
        let patience: Stack = options.content == .none ? [.attemptTimeout(.seconds(60))] : []
        return Stack([.redirect(), .retry()] + patience.gates + [.idleTimeout(), .limits()])
    }
}
