// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeInspection

enum StatusCommand {
    /// Prints the state of the clients of a service, which the service's socket returns.
    static func run(_ arguments: [String], _ terminal: Terminal) -> Int32 {
        if let help = Help.asked(arguments, .status, terminal) { return help }
        let words = arguments.filter { !$0.hasPrefix("--") }
        let options = arguments.filter { $0.hasPrefix("--") }
        guard words.count == 1, options.count < 2,
            ["--json", "--html", nil].contains(options.first)
        else {
            terminal.error("status needs one socket; see turnpike status --help")
            return ExitCode.usage
        }
        do {
            let all = try [ClientStatus](socket: words[0])
            switch options.first {
            case "--json":
                return Help.show(String(decoding: try all.json(), as: UTF8.self), terminal)
            case "--html": return Help.show(all.html(title: "Status of \(words[0])"), terminal)
            default: return Help.show(all.map(\.description).joined(separator: "\n\n"), terminal)
            }
        } catch let error as DecodingError {
            terminal.error("\(words[0]): found something else than the state of clients: \(error)")
        } catch {
            terminal.error("\(words[0]): \(error)")
        }
        return ExitCode.file
    }
}
