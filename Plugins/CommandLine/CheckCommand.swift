import Foundation
import Turnpike
import TurnpikeCache
import TurnpikeCurl

/// The command `turnpike check FILE`.
enum CheckCommand {
    /// Reports the mistakes in a stack file, or prints what a stack file may contain.
    static func run(_ arguments: [String], _ terminal: Terminal) -> Int32 {
        if let help = Help.asked(arguments, .check, terminal) { return help }
        switch arguments {
        case ["--schema"]: return Help.show(schema, terminal)
        case ["--reference"]: return Help.show(reference, terminal)
        default: break
        }
        guard arguments.count == 1, let path = arguments.first, !path.hasPrefix("-") else {
            terminal.error(
                "check needs one stack file, or --schema, or --reference; see turnpike check --help"
            )
            return ExitCode.usage
        }
        do {
            let issues = try StackFile(contentsOf: URL(filePath: path)).check(with: .commandLine)
            for issue in issues { terminal.error("\(path): \(issue)") }
            return issues.isEmpty ? ExitCode.success : ExitCode.usage
        } catch {
            terminal.error("\(path): \((error as? ClientError)?.shownMessage ?? "\(error)")")
            return ExitCode.usage
        }
    }

    /// The JSON Schema of the stack files that the command reads.
    static var schema: String {
        String(decoding: Registry.commandLine.schema().data(pretty: true), as: UTF8.self)
    }

    /// The reference of these stack files, which is the article `StackFileReference`.
    static var reference: String {
        String(Registry.commandLine.reference(linking: ["TurnpikeMiddleware"]).dropLast())
    }
}

extension Registry {
    /// The registry for stack files of the command.
    static var commandLine: Registry {
        var registry = Registry.standard
        registry.registerCurl(environment: TurnpikeCommand.proxyVariables)
        registry.registerCache()
        return registry
    }
}
