// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeCore
import TurnpikeInspection
import TurnpikeSupport

/// Shows the events of `turnpike send -v`: heads of requests and responses, and actions of gates.
///
/// A line begins with `>` for a request, `<` for a response and `*` for other events. Secrets are
/// hidden as in logs. Fields that only the transport adds are not shown, such as `Host` and
/// `Content-Length`.
struct SendTrace: RequestLogger {
    let write: @Sendable (String) -> Void

    func log(_ event: CallEvent) {
        let lines = Self.lines(of: event)
        if !lines.isEmpty { write(lines.map { $0 + "\n" }.joined()) }
    }

    func note(_ text: String) { write("* \(Grammar.escaped(text))\n") }

    /// Writes how long each phase of a call took, unless nothing was sent.
    func note(_ timeline: Timeline) {
        if timeline.sent == nil { return }
        let peer = timeline.peerAddress.map { " from \($0)" } ?? ""
        note("\(timeline.bodyBytesReceived) bytes\(peer): \(timeline)")
    }

    private static func lines(of event: CallEvent) -> [String] {
        switch event.kind {
        case .sent:
            guard let request = event.request else { return [] }
            return block(">", request.description, request.headers)
        case .received:
            let version = event.timeline.protocolVersion.map { "/\($0)" } ?? ""
            let status = event.status.map { " \($0)" } ?? ""
            return block("<", "HTTP\(version)\(status)", event.responseHeaders() ?? [:])
        case .retrying(let delay, let attempt):
            let reason = event.errorDescription ?? event.status.map { "\($0)" } ?? ""
            return ["* attempt \(attempt) in \(delay.text), because of \(reason)"]
        case .redirecting: return ["* the redirect is followed"]
        case .note(let gate, let message):
            return ["* \(Grammar.escaped("\(gate): \(message)"))"]
        case .began, .responded, .failed, .bodyEnded: return []
        }
    }

    private static func block(_ mark: String, _ line: String, _ headers: HTTPHeaders) -> [String] {
        ["\(mark) \(Grammar.escaped(line))"]
            + headers.map { "\(mark) \(Grammar.escaped("\($0.name): \($0.value)"))" } + [mark]
    }
}

enum SendTraceView: Sendable, Equatable {
    /// Standard error gets a waterfall of the call.
    case waterfall
    /// A file; the suffix of the file name selects the format.
    case file(String, Format)

    /// The formats of files, with the suffixes of their names.
    enum Format: String, Sendable, CaseIterable {
        // A longer suffix comes before a shorter suffix within the longer suffix.
        case otlp = ".otlp.json"
        case json = ".json"
        case har = ".har"
        case html = ".html"
        case svg = ".svg"
    }

    /// Creates a view for the terminal, or for a file with a known suffix.
    init(_ path: String?) throws {
        guard let path else {
            self = .waterfall
            return
        }
        guard
            let format = Format.allCases.first(where: { path.lowercased().hasSuffix($0.rawValue) })
        else {
            throw SendOptions.wrong(
                "--trace: found \(JSONValue.string(path)); expected a file whose name ends in .html,"
                    + " .har, .svg, .json or .otlp.json, or --trace alone for a waterfall")
        }
        self = .file(path, format)
    }

    func show(_ trace: Trace, _ terminal: Terminal) throws {
        switch self {
        case .waterfall:
            let text = trace.waterfall(
                width: terminal.columns ?? 100, color: terminal.messagesHaveColor)
            terminal.messages(text)
        case .file(let path, let format):
            do {
                try Self.data(trace, format).write(to: URL(filePath: path), options: .atomic)
            } catch {
                throw OutputError(
                    description: "cannot write \(path): \(Self.reason(error))")
            }
        }
    }

    private static func data(_ trace: Trace, _ format: Format) -> Data {
        switch format {
        case .otlp: [trace].otlp(service: "turnpike send").data() + Data("\n".utf8)
        case .json: trace.json().data(pretty: true) + Data("\n".utf8)
        case .har: [trace].har().data(pretty: true) + Data("\n".utf8)
        case .html: Data([trace].html(title: "turnpike send").utf8)
        case .svg: Data(trace.svg().utf8)
        }
    }

    private static func reason(_ error: any Error) -> String {
        let cause = (error as NSError).userInfo[NSUnderlyingErrorKey] as? any Error
        return (cause ?? error).localizedDescription
    }
}
