// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeSupport

/// How the values of options are read.
extension SendOptions {
    // Works on scalars, because a delimiter and a combining mark form one character.
    static func halves(
        _ text: String, at delimiter: Unicode.Scalar
    ) -> (String, String?)? {
        guard let place = text.unicodeScalars.firstIndex(of: delimiter) else { return nil }
        let rest = text.unicodeScalars[place...].dropFirst()
        return (String(text[..<place]), String(Substring(rest)))
    }

    static func header(_ text: String) throws -> (name: String, value: String) {
        guard let (name, value) = halves(text, at: ":"), !name.isEmpty else {
            // The text is not shown: it may be a secret without its name.
            throw wrong("-H needs name:value")
        }
        return (name, (value ?? "").trimmingCharacters(in: .whitespaces))
    }

    static func content(_ text: String) -> Content {
        guard let path = file(text) else { return .text(text) }
        return path == "-" ? .input : .file(path)
    }

    static func field(_ text: String) throws -> Field {
        guard let (name, rest) = halves(text, at: "="), !name.isEmpty else {
            throw wrong("-F needs name=value or name=@file")
        }
        let value = rest ?? ""
        return Field(name: name, value: file(value).map { .file($0) } ?? .text(value))
    }

    // Returns the path after an `@`.
    private static func file(_ text: String) -> String? {
        guard text.unicodeScalars.first == "@" else { return nil }
        return String(Substring(text.unicodeScalars.dropFirst()))
    }

    /// Returns a target, of which a short form such as `:8080/path` is one on this machine.
    static func target(_ text: String) throws -> String {
        guard text.utf8.first == UInt8(ascii: ":") else {
            try checkScheme(text)
            return text
        }
        let rest = text.unicodeScalars.dropFirst()
        let path = rest.drop { ("0"..."9").contains($0) }
        if let first = path.first, !["/", "?", "#"].contains(first) {
            throw wrong(
                "found \"\(Grammar.escaped(String(first)))\" in the target after its colon;"
                    + " expected a port or a slash, as in :8080/path")
        }
        let port = String(Substring(rest[..<path.startIndex]))
        return "http://localhost" + (port.isEmpty ? "" : ":" + port) + String(Substring(path))
    }

    // `localhost:8080/path` would be a URL whose scheme is `localhost`.
    private static func checkScheme(_ text: String) throws {
        let form = /([A-Za-z][A-Za-z0-9.-]*):([0-9]+)(?:[\/?#].*)?/.dotMatchesNewlines()
        guard let (_, host, port) = text.wholeMatch(of: form)?.output else { return }
        let isLocal = host.lowercased() == "localhost"
        guard isLocal || host.contains(".") else { return }
        throw wrong(
            "\(host):\(port) is a host and a port without a scheme; write"
                + " http://\(host):\(port)\(isLocal ? ", or :\(port)" : "")")
    }

    // Messages do not repeat the value, which is a secret.
    static func user(_ text: String) throws -> User {
        if text.isEmpty { throw wrong("-u needs user or user:password") }
        if text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            // RFC 7617 §2
            throw wrong("-u: found a control character; expected user or user:password")
        }
        guard let (name, password) = halves(text, at: ":") else { return User(name: text) }
        return User(name: name, password: password ?? "")
    }

    static func seconds(_ text: String) throws -> Duration {
        guard let seconds = Double(text), seconds > 0, seconds <= 1e9 else {
            throw wrong(
                "--timeout: found \"\(text)\"; expected a number of seconds above 0, such as 2.5")
        }
        return .seconds(seconds)
    }

    static func transport(_ text: String) throws -> SendTransport.Name {
        if let name = SendTransport.Name(rawValue: text) { return name }
        let names = SendTransport.Name.allCases.map(\.rawValue)
        throw wrong(
            "--transport: found \"\(text)\"; expected \(names.joined(separator: " or "))")
    }
}
