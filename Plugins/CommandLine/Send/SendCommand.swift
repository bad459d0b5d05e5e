// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike
import TurnpikeCore
import TurnpikeCurl
import TurnpikeStackFiles
import TurnpikeSupport

enum SendCommand {
    static func run(
        _ arguments: [String], _ terminal: Terminal, _ registry: Registry = .commandLine
    ) async -> Int32 {
        // `--help` counts anywhere, even in the place of another option's value.
        if arguments.contains("--help") || arguments == ["-h"] {
            return Help.show(.send, terminal)
        }
        if arguments.contains("--version") { return Help.showVersion(terminal) }
        do {
            var options = try SendOptions(arguments)
            try await options.askForPassword(terminal)
            let exchange = SendExchange(options, terminal)
            let client = try client(for: options, exchange.trace, registry)
            let status =
                options.isSocket
                ? await SendSocket(options: options, terminal: terminal, trace: exchange.trace)
                    .run(with: client) : await exchange.run(with: client)
            await client.shutdown()
            return terminal.ended(status, with: registry)
        } catch is CancellationError {
            return ExitCode.interrupted
        } catch {
            terminal.error((error as? ClientError)?.shownMessage ?? "\(error)")
            return ExitCode.of(error)
        }
    }

    private static func client(
        for options: SendOptions, _ trace: SendTrace?, _ registry: Registry
    ) throws -> Client {
        guard let path = options.stack else {
            let chosen = try SendTransport(options.transport)
            trace?.note("transport: \(chosen.description)")
            return Client(
                transport: chosen.transport,
                stack: Stack((trace.map { [$0] } ?? []) + stack(for: options).gates))
        }
        let file = try StackFile(contentsOf: URL(filePath: path))
        let client = try ConfiguredClient(
            file, registry: registry, serializers: .standard
        ).client
        if let trace {
            trace.note("stack: \(path)")
            client.replace(stack: Stack([trace] + client.stack.gates))
        }
        return client
    }

    // There is no default deadline, because a person sees the progress and can press Ctrl-C, and an
    // upload may take any time. One attempt may use the whole time limit. There is no validation,
    // because a response with any status is shown.
    private static func stack(for options: SendOptions) -> Stack {
        let isPatient = options.content != .none || options.timeout != nil
        let patience: Stack = isPatient ? [] : [.attemptTimeout(.seconds(60))]
        return Stack([.redirect(), .retry()] + patience.gates + [.idleTimeout(), .limits()])
    }
}

/// The transport of `turnpike send` if no stack file names a transport.
struct SendTransport: Sendable {
    enum Name: String, CaseIterable, Sendable {
        case curl, urlsession
    }

    let transport: any Transport
    /// The name of the transport, and the reason if URLSession replaces a missing libcurl.
    let description: String

    /// Creates a transport; without a name, curl if libcurl can be loaded, or else urlsession.
    init(_ name: Name?, curl: () throws -> any Transport = { try CurlTransport() }) throws {
        do {
            if name != .urlsession {
                transport = try curl()
                description = Name.curl.rawValue
                return
            }
        } catch  where name == nil {
            let reason = (error as? ClientError)?.shownMessage ?? "\(error)"
            transport = URLSessionTransport()
            description = "\(Name.urlsession.rawValue), because \(reason)"
            return
        }
        transport = URLSessionTransport()
        description = Name.urlsession.rawValue
    }
}

extension SendOptions {
    /// Asks for the password of `-u user`, which the list of processes would otherwise show.
    mutating func askForPassword(_ terminal: Terminal) async throws {
        guard let user, user.password == nil else { return }
        let name = Grammar.escaped(user.name)
        set(password: try await terminal.password("Password of \(name): "))
    }

    var fields: HTTPHeaders {
        var fields = HTTPHeaders()
        for (name, value) in headers { fields.append(HTTPHeaders.Name(name), value) }
        fields.authorize(user)
        return fields
    }
}

extension String {
    var isWebSocketURL: Bool {
        let start = prefix(4).lowercased()
        return start.hasPrefix("ws:") || start == "wss:"
    }
}

extension HTTPHeaders {
    /// Adds a credential for Basic authentication, in UTF-8 (RFC 7617 §2).
    ///
    /// The field overrides a credential of the stack, and is not redirected to another origin.
    mutating func authorize(_ user: SendOptions.User?) {
        guard let user else { return }
        let text = "\(user.name):\(user.password ?? "")".precomposedStringWithCanonicalMapping
        self[.authorization] = "Basic " + Data(text.utf8).base64EncodedString()
    }
}

extension RequestBody {
    /// Creates a `multipart/form-data` form (RFC 7578), whose files are read during the send.
    static func form(of fields: [SendOptions.Field]) -> RequestBody {
        var form = MultipartFormData()
        for field in fields {
            switch field.value {
            case .text(let text): form.append(text, name: field.name)
            case .file(let path):
                let file = URL(filePath: path)
                form.append(file: file, name: field.name, filename: file.lastPathComponent)
            }
        }
        return .multipart(form)
    }
}
