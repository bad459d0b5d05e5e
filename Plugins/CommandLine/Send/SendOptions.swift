// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeCore
import TurnpikeSupport

struct SendOptions: Sendable {
    enum Content: Sendable, Equatable {
        case none
        case text(String)
        case file(String)
        case input
        case fields([Field])
    }

    struct Field: Sendable, Equatable {
        let name: String
        let value: Value

        enum Value: Sendable, Equatable {
            case text(String)
            case file(String)
        }
    }

    struct User: Sendable, Equatable {
        let name: String
        /// The password, or nil if the command must ask for a password.
        var password: String?
    }

    /// The method; without `-X`, POST with content, and GET without content.
    var method: HTTPMethod { namedMethod ?? (content == .none ? .get : .post) }
    var isSocket: Bool { url.isWebSocketURL }
    /// The target, absolute or relative to the base URL of a stack file.
    private(set) var url = ""
    private(set) var headers: [(name: String, value: String)] = []
    private(set) var content = Content.none
    private(set) var user: User?
    private(set) var stack: String?
    private(set) var transport: SendTransport.Name?
    /// The longest duration of the call, including the content.
    private(set) var timeout: Duration?
    private(set) var output: String?
    private(set) var asJSON = false
    private(set) var showsHead = false
    private(set) var isVerbose = false
    /// The form in which the trace of the call is shown, or nil for no trace.
    private(set) var trace: SendTraceView?
    /// Whether JSON is indented and colored on a terminal.
    private(set) var isPretty = true
    private var namedMethod: HTTPMethod?

    init(_ arguments: [String]) throws {
        var words: [String] = []
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--" {
                words += rest
                break
            } else if argument.hasPrefix("-"), argument != "-" {
                try take(argument, &rest)
            } else {
                words.append(argument)
            }
        }
        switch words.count {
        case 1: url = try Self.target(words[0])
        case 2:
            namedMethod = HTTPMethod(words[0].uppercased())
            url = try Self.target(words[1])
        case 0: throw Self.wrong("a URL is missing")
        default: throw Self.wrong("unexpected \"\(words[2])\" after a method and a URL")
        }
        try checkTogether()
    }

    private mutating func take(_ argument: String, _ rest: inout ArraySlice<String>) throws {
        let (option, attached) = Self.split(argument)
        if option == "--trace" {
            return try Self.set(&trace, try SendTraceView(attached), option)
        }
        if takeFlag(option) {
            guard let attached else { return }
            if option.hasPrefix("--") { throw Self.wrong("\(option) takes no value") }
            // `-iv` is `-i -v`.
            return try take("-" + attached, &rest)
        }
        guard Self.names.contains(option) else { throw Self.unknown(option) }
        guard let value = attached ?? rest.popFirst() else {
            throw Self.wrong("\(option) needs a value")
        }
        switch option {
        case "-H": headers.append(try Self.header(value))
        case "-d": try setContent(Self.content(value))
        case "-F": try addField(Self.field(value))
        case "-u": try Self.set(&user, try Self.user(value), option)
        case "--stack": try Self.set(&stack, value, option)
        case "--timeout": try Self.set(&timeout, try Self.seconds(value), option)
        case "--transport": try Self.set(&transport, try Self.transport(value), option)
        default: try Self.set(&output, value, option)
        }
    }

    mutating func set(password: String) { user?.password = password }

    private mutating func takeFlag(_ option: String) -> Bool {
        switch option {
        case "-i": showsHead = true
        case "-v": isVerbose = true
        case "--json": asJSON = true
        case "--no-pretty": isPretty = false
        default: return false
        }
        return true
    }

    private static let names = [
        "-H", "-d", "-F", "-u", "-o", "--stack", "--timeout", "--transport",
    ]
    private static let flags = [
        "-i", "-v", "--json", "--no-pretty", "--trace", "--help", "--version",
    ]

    // Each option of one letter is one edit away from all others, and none is suggested.
    private static func unknown(_ option: String) -> ClientError {
        let options = names + flags
        let hint =
            switch option {
            case "-X", "--request", "--method":
                "; write the method before the URL, as in turnpike send PUT URL"
            case _ where option.hasPrefix("--"):
                NearMiss.hint(for: option, among: options.filter { $0.hasPrefix("--") })
            default: "; allowed: " + options.joined(separator: ", ")
            }
        return wrong("there is no option \(option)\(hint)")
    }

    // An option without effect is an error, because the user expects an effect.
    private func checkTogether() throws {
        if showsHead, asJSON {
            throw Self.wrong("-i and --json exclude each other: the output of --json has the head")
        }
        if isSocket, method != .get || content != .none || output != nil || asJSON {
            throw Self.wrong(
                "a WebSocket excludes -d, -F, -o, --json and any method but GET: it sends the lines of"
                    + " standard input")
        }
        if stack != nil, transport != nil {
            throw Self.wrong(
                "--transport and --stack exclude each other: the stack file names its transport")
        }
        if user != nil, headers.contains(where: { $0.name.lowercased() == "authorization" }) {
            throw Self.wrong("-u and -H Authorization exclude each other")
        }
        if user != nil, URL(string: url)?.user(percentEncoded: true) != nil {
            throw Self.wrong("-u and a user name in the URL exclude each other")
        }
    }

    // `-Hname:value` and `--stack=FILE` are single arguments.
    private static func split(_ argument: String) -> (String, String?) {
        if argument.hasPrefix("--") {
            return halves(argument, at: "=") ?? (argument, nil)
        }
        let option = argument.unicodeScalars.prefix(2)
        let value = argument[option.endIndex...]
        return (String(Substring(option)), value.isEmpty ? nil : String(value))
    }

    private static func set<Value>(
        _ place: inout Value?, _ value: Value, _ option: String
    ) throws {
        if place != nil { throw wrong("\(option) was given twice") }
        place = value
    }

    private mutating func setContent(_ new: Content) throws {
        guard content == .none else { throw Self.wrong("the content was given twice") }
        content = new
    }

    private mutating func addField(_ field: Field) throws {
        switch content {
        case .none: content = .fields([field])
        case .fields(let fields): content = .fields(fields + [field])
        default: throw Self.wrong("the content was given twice")
        }
    }

    static func wrong(_ message: String) -> ClientError {
        ClientError(.configuration, message + "; see turnpike send --help")
    }
}

extension SendOptions {
    // Splits at a scalar, because a delimiter and a combining mark would form one character.
    static func halves(
        _ text: String, at delimiter: Unicode.Scalar
    ) -> (String, String?)? {
        guard let place = text.unicodeScalars.firstIndex(of: delimiter) else { return nil }
        let rest = text.unicodeScalars[place...].dropFirst()
        return (String(text[..<place]), String(Substring(rest)))
    }

    static func header(_ text: String) throws -> (name: String, value: String) {
        guard let (name, value) = halves(text, at: ":"), !name.isEmpty else {
            // The text is not shown, because the text may be a secret.
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

    /// Returns the target; a short form such as `:8080/path` becomes a URL of this machine.
    static func target(_ text: String) throws -> String {
        guard text.utf8.first == UInt8(ascii: ":") else {
            try checkScheme(text)
            return text
        }
        let rest = text.unicodeScalars.dropFirst()
        let path = rest.drop { ("0"..."9").contains($0) }
        if let first = path.first, !["/", "?", "#"].contains(first) {
            throw wrong(
                "found \"\(Grammar.escaped(String(first)))\" after the colon of the target;"
                    + " expected a port or a slash, as in :8080/path")
        }
        let port = String(Substring(rest[..<path.startIndex]))
        return "http://localhost" + (port.isEmpty ? "" : ":" + port) + String(Substring(path))
    }

    // Without this check, `localhost:8080/path` would be a URL with the scheme `localhost`.
    private static func checkScheme(_ text: String) throws {
        let form = /([A-Za-z][A-Za-z0-9.-]*):([0-9]+)(?:[\/?#].*)?/.dotMatchesNewlines()
        guard let (_, host, port) = text.wholeMatch(of: form)?.output else { return }
        let isLocal = host.lowercased() == "localhost"
        guard isLocal || host.contains(".") else { return }
        throw wrong(
            "\(host):\(port) is a host and a port without a scheme; write"
                + " http://\(host):\(port)\(isLocal ? ", or :\(port)" : "")")
    }

    // The messages do not repeat the value, because the value is a secret.
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
