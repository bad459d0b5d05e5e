// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeSupport

extension Settings {
    // Returns a string, or the string that a reference stands for.
    func text(_ value: JSONValue, at key: String) -> String? {
        switch value {
        case .string(let text): return text
        case .object(let object) where object.count == 1:
            // What is only described is shown as it stands, wherever that is.
            if reads != nil, (object["env"] ?? object["file"])?.string != nil { return "reference" }
            if let name = object["env"]?.string {
                if let text = ProcessInfo.processInfo.environment[name] { return hidden(text) }
                issue(at: key, "the environment variable \(Grammar.escaped(name)) is not set")
                return nil
            }
            if let path = object["file"]?.string { return contents(of: path, at: key).map(hidden) }
        default: break
        }
        issue(
            at: key,
            "found \(value.kindName); expected a string, {\"env\": …} or {\"file\": …}")
        return nil
    }

    // Messages never show values that the file refers to.
    private func hidden(_ text: String) -> String {
        report.hide(text)
        return text
    }

    private func contents(of path: String, at key: String) -> String? {
        do {
            let text = try String(contentsOfFile: path, encoding: .utf8)
            // Editors end a file with a line break, which is not part of a secret.
            return text.last == "\n" || text.last == "\r\n" ? String(text.dropLast()) : text
        } catch {
            issue(at: key, "the file \(Grammar.escaped(path)) cannot be read as text")
            return nil
        }
    }
}
