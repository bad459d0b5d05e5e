import Foundation
import Turnpike
import TurnpikeCache
import TurnpikeCurl

/// The command `turnpike check FILE`.
enum CheckCommand {
    /// Reports the mistakes in a stack file.
    static func run(_ arguments: [String], _ terminal: Terminal) -> Int32 {
        if let help = Help.asked(arguments, .check, terminal) { return help }
        guard arguments.count == 1, let path = arguments.first, !path.hasPrefix("-") else {
            terminal.error("check needs one stack file; see turnpike check --help")
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
