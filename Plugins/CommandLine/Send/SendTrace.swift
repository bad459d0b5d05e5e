// SPDX-License-Identifier: Apache-2.0

import Turnpike
import TurnpikeCore
import TurnpikeSupport

/// Tells a person what `turnpike send -v` does: each request and response head, and what the gates do
/// between them, with secrets hidden as in logs.
///
/// Lines begin with `>` for a request, `<` for a response and `*` for everything else. Fields that
/// only the transport adds, such as `Host` and `Content-Length`, are not among those of a request.
struct SendTrace: RequestLogger {
    let write: @Sendable (String) -> Void

    /// Tells an event.
    func log(_ event: CallEvent) {
        let lines = Self.lines(of: event)
        if !lines.isEmpty { write(lines.map { $0 + "\n" }.joined()) }
    }

    /// Tells something that is no event.
    func note(_ text: String) { write("* \(Grammar.escaped(text))\n") }

    /// Tells how long each phase of a call took, unless nothing was sent.
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
