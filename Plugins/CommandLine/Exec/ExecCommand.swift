// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeInspection
import TurnpikeStackFiles
import TurnpikeTesting

enum ExecCommand {
    static let maxLineBytes = 128 << 20

    /// Processes lines until the input ends, an error of input or output, or a cancellation.
    ///
    /// A cancellation also ends the current exchange.
    static func run(
        _ arguments: [String], _ terminal: Terminal, _ registry: Registry = .commandLine,
        maxLineBytes: Int = maxLineBytes
    ) async -> Int32 {
        if let help = Help.asked(arguments, .exec, terminal) { return help }
        let base: StackFile?
        let server: TraceServer?
        let traces: TraceStore?
        do {
            let options = try options(arguments)
            base = try options.stack.map { try stackFile($0, registry) }
            traces = options.servesTraces ? TraceStore() : nil
            server = try traces.map { try TraceServer($0, title: "turnpike exec") }
        } catch {
            terminal.error((error as? ClientError)?.shownMessage ?? "\(error)")
            return ExitCode.usage
        }
        if let server { terminal.messages("traces: \(server.url.absoluteString)\n") }
        defer { server?.stop() }
        let clients = ExecClients(base: base, registry: registry, traces: traces)
        let lines = InputLines(maxBytes: maxLineBytes, read: terminal.input)
        var status = ExitCode.success
        do {
            while let line = try await lines.next() {
                let answer =
                    switch line {
                    case .whole(let bytes): await ExecLine.answer(bytes, clients)
                    case .tooLong: ExecLine.answer(tooLong: maxLineBytes)
                    }
                try terminal.output(answer.data() + Data("\n".utf8))
            }
        } catch {
            status = terminal.ended(by: error)
        }
        await clients.shutdown()
        return Task.isCancelled ? ExitCode.interrupted : terminal.ended(status, with: registry)
    }

    private static func options(
        _ arguments: [String]
    ) throws -> (stack: String?, servesTraces: Bool) {
        var stack: String?
        var servesTraces = false
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--trace-server", !servesTraces {
                servesTraces = true
            } else if argument == "--stack", stack == nil, let path = rest.popFirst() {
                stack = path
            } else {
                throw ClientError(
                    .configuration,
                    "found \(JSONValue.string(argument)); exec has two options, each at most once:"
                        + " --stack FILE and --trace-server; see turnpike exec --help")
            }
        }
        return (stack, servesTraces)
    }

    private static func stackFile(_ path: String, _ registry: Registry) throws -> StackFile {
        let file = try StackFile(contentsOf: URL(filePath: path))
        let issues = file.check(with: registry)
        guard issues.isEmpty else { throw ClientError.configuration(issues) }
        return file
    }
}
