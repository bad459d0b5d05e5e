// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeCore
import TurnpikeInspection
import TurnpikeStackFiles

enum ExplainCommand {
    private enum Form: String, CaseIterable {
        case text, json, mermaid, svg
    }

    private struct Options {
        var path = ""
        var method = HTTPMethod.get
        var target: String?
        var form = Form.text

        init(_ arguments: [String]) throws(UsageFault) {
            var words: [String] = []
            for argument in arguments {
                if !argument.hasPrefix("-") {
                    words.append(argument)
                } else if let form = Form(rawValue: String(argument.dropFirst(2))), form != .text {
                    if self.form != .text {
                        throw UsageFault(
                            "found --\(self.form) and --\(form); explain prints only one of them")
                    }
                    self.form = form
                } else {
                    throw UsageFault(
                        "found the option \(argument); explain knows --json, --mermaid and --svg")
                }
            }
            guard let path = words.first else {
                throw UsageFault("explain needs a stack file; see turnpike explain --help")
            }
            self.path = path
            switch words.count {
            case 1: break
            case 2 where Self.isMethod(words[1]): method = HTTPMethod(words[1])
            case 2: target = words[1]
            case 3:
                method = HTTPMethod(words[1])
                target = words[2]
            default:
                throw UsageFault("found \(words.count) words; expected a file, a method and a URL")
            }
        }

        // `GET` is a method, and `users/1`, `/GET` and `example.com` are URLs.
        private static func isMethod(_ word: String) -> Bool {
            let scalars = word.unicodeScalars
            return scalars.contains { ("A"..."Z").contains($0) }
                && scalars.allSatisfy { ("A"..."Z").contains($0) || $0 == "-" || $0 == "_" }
        }
    }

    private struct UsageFault: Error {
        let message: String
        init(_ message: String) { self.message = message }
    }

    /// Prints the explanation of a file's stack, or the mistakes if the file has mistakes.
    static func run(
        _ arguments: [String], _ terminal: Terminal, _ registry: Registry = .commandLine
    ) -> Int32 {
        if let help = Help.asked(arguments, .explain, terminal) { return help }
        let options: Options
        do { options = try Options(arguments) } catch {
            terminal.error(error.message)
            return ExitCode.usage
        }
        do {
            let file = try StackFile(contentsOf: URL(filePath: options.path))
            let draft = file.parsed(with: registry)
            guard draft.issues.isEmpty, let transport = draft.transport else {
                return CheckCommand.run([options.path], terminal, registry)
            }
            let request = try request(options, draft.baseURL)
            let stack = Stack(draft.gates.map(\.gate))
            var explanation = stack.explain(request, on: transport)
            // The parsed transport has the capabilities of the real transport, but not its name.
            if let name = draft.transportName { explanation.transport = name }
            return Help.show(text(of: explanation, options.form), terminal)
        } catch {
            let message = (error as? ClientError)?.shownMessage ?? "\(error)"
            terminal.error("\(options.path): \(message)")
            return ExitCode.usage
        }
    }

    private static func text(of explanation: StackExplanation, _ form: Form) -> String {
        let text =
            switch form {
            case .text: explanation.description
            case .json: String(decoding: explanation.json.data(pretty: true), as: UTF8.self)
            case .mermaid: explanation.mermaid
            case .svg: explanation.svg
            }
        return text.hasSuffix("\n") ? String(text.dropLast()) : text
    }

    // Without a URL, the request goes to the base URL of the file.
    private static func request(_ options: Options, _ base: Target?) throws -> Request {
        if options.target == nil, base == nil {
            throw ClientError(
                .invalidRequest, "found no URL; expected one, because the file has no baseURL")
        }
        var text = options.target ?? ""
        // As in `Call.webSocket()`, a WebSocket uses https, requests an upgrade, and has no end.
        let isSocket = text.isWebSocketURL
        if isSocket { text = "http" + text.dropFirst(2) }
        var request = Request(options.method, Target(text))
        if isSocket {
            request.options.upgrade = "websocket"
            request.options.isStreaming = true
        }
        if let base { request.resolve(against: base) }
        if let fault = request.fault { throw ClientError(.invalidRequest, fault) }
        return request
    }
}
