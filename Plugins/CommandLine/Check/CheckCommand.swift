// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeAuthenticationStackFiles
import TurnpikeCurlStackFiles
import TurnpikeEndpointsStackFiles
import TurnpikeInspection
import TurnpikeSharedStateStackFiles
import TurnpikeStackFiles
import TurnpikeTrafficStackFiles
import TurnpikeValkeyStackFiles

enum CheckCommand {
    /// Prints the mistakes in a stack file and in the order of its gates.
    static func run(
        _ arguments: [String], _ terminal: Terminal, _ registry: Registry = .commandLine
    ) -> Int32 {
        if let help = Help.asked(arguments, .check, terminal) { return help }
        switch arguments {
        case ["--schema"]: return Help.show(schema(registry), terminal)
        case ["--reference"]: return Help.show(reference(registry), terminal)
        case ["--rules"]: return Help.show(rules, terminal)
        default: break
        }
        let files = arguments.filter { $0 != "--json" }
        guard let path = files.first, files.count == 1, !path.hasPrefix("-"),
            arguments.count <= 2
        else {
            terminal.error(
                "check needs one stack file, or --schema, --reference or --rules; see turnpike check"
                    + " --help")
            return ExitCode.usage
        }
        let report: CheckReport
        do {
            report = try CheckReport(path, registry)
        } catch {
            terminal.error("\(path): \((error as? ClientError)?.shownMessage ?? "\(error)")")
            return ExitCode.usage
        }
        if arguments.count == 2 {
            let shown = Help.show(
                String(decoding: report.json.data(pretty: true), as: UTF8.self), terminal)
            if shown != ExitCode.success { return shown }
        } else {
            for line in report.mistakeLines { terminal.error(line) }
            for finding in report.findings { terminal.error(report.text(of: finding)) }
        }
        return report.hasErrors ? ExitCode.usage : ExitCode.success
    }

    /// The rules of the linter, as in the article `OrderOfTheStack` of `TurnpikeInspection`.
    static var rules: String { String(LintRule.article.dropLast()) }

    private static func schema(_ registry: Registry) -> String {
        String(decoding: registry.schema().data(pretty: true), as: UTF8.self)
    }

    /// The reference of stack files, with the text of the article `StackFileReference`.
    static func reference(_ registry: Registry = .commandLine) -> String {
        String(registry.reference(linking: ["TurnpikeMiddleware"]).dropLast())
    }
}

extension Registry {
    static var commandLine: Registry {
        var registry = Registry.standard
        registry.registerAuthentication()
        registry.registerCurl(environment: TurnpikeCommand.proxyVariables)
        registry.registerEndpoints()
        registry.registerSharedState()
        registry.registerTraffic()
        registry.registerValkeyCache()
        registry.registerValkey()
        return registry
    }
}
