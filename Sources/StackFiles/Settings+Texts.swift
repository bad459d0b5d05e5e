// SPDX-License-Identifier: Apache-2.0

import Foundation
public import TurnpikeCore
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

    // MARK: Names of header fields

    /// The name of a header field.
    func headerName(_ key: String, default fallback: HTTPHeaders.Name) -> HTTPHeaders.Name {
        string(key).flatMap { headerName($0, at: key) } ?? fallback
    }

    /// The name of a header field, or nil if the key is missing or null.
    func headerName(_ key: String) -> HTTPHeaders.Name? {
        string(key).flatMap { headerName($0, at: key) }
    }

    /// A list of names of header fields; empty if the key is missing or null.
    public func headerNames(_ key: String) -> [HTTPHeaders.Name] {
        strings(key).enumerated().compactMap { headerName($0.element, at: "\(key)[\($0.offset)]") }
    }

    private func headerName(_ text: String, at key: String) -> HTTPHeaders.Name? {
        let name = HTTPHeaders.Name(text)
        guard let defect = Self.defect(name, "") else { return name }
        issue(at: key, defect)
        return nil
    }

    /// Why a field cannot be sent, or nil; the text never holds the value.
    static func defect(_ name: HTTPHeaders.Name, _ value: String) -> String? {
        var trial = HTTPHeaders()
        trial.append(name, value)
        return trial.defect?.description
    }
}
