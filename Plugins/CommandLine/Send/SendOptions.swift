import Foundation
import Turnpike
import TurnpikeCore
import TurnpikeSupport

/// The parsed command line of `turnpike send`.
struct SendOptions: Sendable {
    /// The source of the request content.
    enum Content: Sendable, Equatable {
        case none
        case text(String)
        case file(String)
        case input
        case fields([Field])
    }

    /// A form field.
    struct Field: Sendable, Equatable {
        let name: String
        let value: Value

        enum Value: Sendable, Equatable {
            case text(String)
            case file(String)
        }
    }

    /// The method; if none was given, POST with content and GET without.
    var method: HTTPMethod { namedMethod ?? (content == .none ? .get : .post) }
    private(set) var url = ""
    private(set) var headers: [(name: String, value: String)] = []
    private(set) var content = Content.none
    private(set) var stack: String?
    private(set) var output: String?
    private(set) var asJSON = false
    private var namedMethod: HTTPMethod?

    /// Parses a command line.
    /// - Throws: ``ClientError/Code/configuration`` with the mistake.
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
        case 1: url = words[0]
        case 2:
            namedMethod = HTTPMethod(words[0].uppercased())
            url = words[1]
        case 0: throw Self.wrong("a URL is missing")
        default: throw Self.wrong("unexpected \"\(words[2])\" after a method and a URL")
        }
    }

    private mutating func take(_ argument: String, _ rest: inout ArraySlice<String>) throws {
        let (option, attached) = Self.split(argument)
        if option == "--json", attached == nil {
            asJSON = true
            return
        }
        guard Self.names.contains(option) else {
            throw Self.wrong(
                "there is no option \(option)" + NearMiss.hint(for: option, among: Self.names))
        }
        guard option != "--json", let value = attached ?? rest.popFirst() else {
            throw Self.wrong(
                option == "--json" ? "--json takes no value" : "\(option) needs a value")
        }
        switch option {
        case "-H": headers.append(try Self.header(value))
        case "-d": try setContent(Self.content(value))
        case "-F": try addField(Self.field(value))
        case "--stack": try Self.set(&stack, value, option)
        default: try Self.set(&output, value, option)
        }
    }

    private static let names = ["-H", "-d", "-F", "-o", "--stack", "--json", "--help"]

    // `-Hname:value` and `--stack=FILE` are one argument each.
    private static func split(_ argument: String) -> (String, String?) {
        if argument.hasPrefix("--") {
            return halves(argument, at: "=") ?? (argument, nil)
        }
        let option = argument.unicodeScalars.prefix(2)
        let value = argument[option.endIndex...]
        return (String(Substring(option)), value.isEmpty ? nil : String(value))
    }

    // Works on scalars, because a delimiter and a combining mark form one character.
    private static func halves(
        _ text: String, at delimiter: Unicode.Scalar
    ) -> (String, String?)? {
        guard let place = text.unicodeScalars.firstIndex(of: delimiter) else { return nil }
        let rest = text.unicodeScalars[place...].dropFirst()
        return (String(text[..<place]), String(Substring(rest)))
    }

    private static func set(_ place: inout String?, _ value: String, _ option: String) throws {
        if place != nil { throw wrong("\(option) was given twice") }
        place = value
    }

    // MARK: Values

    private static func header(_ text: String) throws -> (name: String, value: String) {
        guard let (name, value) = halves(text, at: ":"), !name.isEmpty else {
            // The text is not shown: it may be a secret without its name.
            throw wrong("-H needs name:value")
        }
        return (name, (value ?? "").trimmingCharacters(in: .whitespaces))
    }

    private static func content(_ text: String) -> Content {
        guard let path = file(text) else { return .text(text) }
        return path == "-" ? .input : .file(path)
    }

    private static func field(_ text: String) throws -> Field {
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

    private static func wrong(_ message: String) -> ClientError {
        ClientError(.configuration, message + "; see turnpike send --help")
    }
}
