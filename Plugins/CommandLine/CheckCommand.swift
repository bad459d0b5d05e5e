import Foundation
import Turnpike

/// The command `turnpike check FILE`.
enum CheckCommand {
    static func run(_ arguments: [String]) -> Int32 {
        guard arguments.count == 1, let path = arguments.first, !path.hasPrefix("-") else {
            Console.error("check wants one stack file")
            return ExitCode.usage
        }
        do {
            let issues = try StackFile(contentsOf: URL(filePath: path)).check(with: .commandLine)
            for issue in issues { Console.error("\(path): \(issue)") }
            return issues.isEmpty ? ExitCode.success : ExitCode.usage
        } catch {
            Console.error("\(path): \((error as? ClientError)?.message ?? "\(error)")")
            return ExitCode.usage
        }
    }
}

extension Registry {
    /// All that the command's stack files may use.
    static var commandLine: Registry { .standard }
}
