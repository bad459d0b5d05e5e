import Foundation
import Turnpike

/// The command `turnpike exec`: writes one line of output for each line of input.
enum ExecCommand {
    /// The longest line in bytes.
    static let maxLineBytes = 128 << 20

    /// Processes lines until the input ends or cannot be read, an answer cannot be written, or the
    /// task is cancelled.
    ///
    /// A cancellation also ends the current exchange.
    static func run(
        _ arguments: [String], _ terminal: Terminal, maxLineBytes: Int = maxLineBytes
    ) async -> Int32 {
        if let help = Help.asked(arguments, .exec, terminal) { return help }
        let base: StackFile?
        do {
            base = try stackFile(arguments)
        } catch {
            terminal.error((error as? ClientError)?.shownMessage ?? "\(error)")
            return ExitCode.usage
        }
        let clients = ExecClients(base: base)
        let lines = InputLines(maxBytes: maxLineBytes, read: terminal.input)
        var status = ExitCode.success
        do {
            while let line = try await lines.next() {
                let answer =
                    switch line {
                    case .whole(let bytes): await ExecLine.answer(bytes, clients)
                    case .tooLong: ExecLine.answer(tooLong: maxLineBytes)
                    }
                try terminal.output(answer.data() + Data("\n".utf8))
            }
        } catch {
            status = terminal.ended(by: error)
        }
        await clients.shutdown()
        return Task.isCancelled ? ExitCode.interrupted : status
    }

    private static func stackFile(_ arguments: [String]) throws -> StackFile? {
        switch arguments.count {
        case 0: return nil
        case 2 where arguments[0] == "--stack":
            let file = try StackFile(contentsOf: URL(filePath: arguments[1]))
            let issues = file.check(with: .commandLine)
            guard issues.isEmpty else { throw ClientError.configuration(issues) }
            return file
        default:
            throw ClientError(
                .configuration, "exec has only one option, --stack FILE; see turnpike exec --help")
        }
    }
}
