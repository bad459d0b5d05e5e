// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike
import TurnpikeCore
import TurnpikeSupport

/// Writes a response to the output: unchanged, or formatted if the output is a terminal.
///
/// A terminal gets indented JSON, escaped control characters, and a line end after the content.
final class SendDisplay: Sendable {
    private enum State {
        /// The output is not a terminal.
        case bytes
        /// The content is shown as it arrives.
        case text(TerminalText)
        /// The content is JSON that has not arrived completely.
        case json(Data, timer: (any TimerToken)?)
        /// The content is not text, and the rest of the content is not shown.
        case hidden
        /// A write to the terminal failed outside of a call.
        case failed(any Error)
        /// Nothing is shown until the next content begins, even if a reader is still active.
        case ended
    }

    /// The longest wait for complete JSON before incomplete JSON is shown.
    static let patience = Duration.seconds(1)

    private let terminal: Terminal
    private let isPretty: Bool
    private let timeSource: any TimeSource
    private let queue = DispatchQueue(label: "turnpike.display")
    private let state: Mutex<State>

    init(
        _ terminal: Terminal, isPretty: Bool, timeSource: any TimeSource = SystemTimeSource()
    ) {
        self.terminal = terminal
        self.isPretty = isPretty && terminal.outputIsTerminal
        self.timeSource = timeSource
        state = Mutex(.ended)
    }

    func show(_ head: ResponseHead) throws {
        let version = head.version.map { "/\($0)" } ?? ""
        var lines = ["HTTP\(version) \(head.status)"]
        lines += head.headers.map { "\($0.name): \($0.value)" }
        if terminal.outputIsTerminal { lines = lines.map(Grammar.escaped) }
        try terminal.output(Data((lines + ["", ""]).joined(separator: "\n").utf8))
    }

    func begin(_ headers: HTTPHeaders) {
        let media = headers[.contentType].flatMap { MediaType(parsing: $0) }
        state.withLock { state in
            if !terminal.outputIsTerminal {
                state = .bytes
            } else if isPretty, media?.isJSON == true {
                state = .json(Data(), timer: nil)
            } else {
                state = .text(TerminalText())
            }
        }
    }

    /// Shows content at once, or stores the content until formatting is possible.
    /// - Returns: False if no more content will be shown.
    func write(_ chunk: Data) throws -> Bool {
        try state.withLock { state in
            switch state {
            case .bytes: try terminal.output(chunk)
            case .json(var content, let timer):
                // If the state held the content during this time, appending would copy the content.
                state = .hidden
                content.append(chunk)
                state = .json(content, timer: timer ?? schedule())
                if content.count > JSONLayout.maxBytes { try showAsItCame(&state) }
            case .text, .hidden: try show(chunk, &state)
            case .failed(let error): throw error
            case .ended: throw CancellationError()
            }
            if case .hidden = state { return false }
            return true
        }
    }

    /// Shows the remaining content, even incomplete content, and ends the last line.
    func end() throws {
        try state.withLock { state in
            defer { state = .ended }
            if case .failed(let error) = state { throw error }
            if case .json(let content, let timer) = state {
                timer?.cancel()
                if let text = JSONLayout.text(content, hasColor: terminal.hasColor) {
                    return try terminal.output(text)
                }
                try showAsItCame(&state)
            }
            guard case .text(var text) = state else { return }
            var last = text.end()
            if !text.endsLine { last.append(UInt8(ascii: "\n")) }
            if !last.isEmpty { try terminal.output(last) }
        }
    }

    /// Shows a JSON value of the command; on one line if the output is not a terminal.
    func show(_ value: JSONValue) throws {
        let data = value.data()
        guard terminal.outputIsTerminal else { return try terminal.output(data + Data("\n".utf8)) }
        if isPretty, let text = JSONLayout.text(data, hasColor: terminal.hasColor) {
            return try terminal.output(text)
        }
        begin([:])
        _ = try write(data)
        try end()
    }

    // MARK: Under the lock

    private func showAsItCame(_ state: inout State) throws {
        guard case .json(let content, let timer) = state else { return }
        timer?.cancel()
        state = .text(TerminalText())
        try show(content, &state)
    }

    private func show(_ chunk: Data, _ state: inout State) throws {
        guard case .text(var text) = state, !chunk.isEmpty else { return }
        if let shown = text.show(chunk) {
            state = .text(text)
            return try terminal.output(shown)
        }
        let last = text.endsLine ? "" : "\n"
        state = .hidden
        if !last.isEmpty { try terminal.output(Data(last.utf8)) }
        terminal.error("the content is not text and is not shown; store it with -o FILE")
    }

    // Writing to a stopped terminal blocks, and must not block the thread of the timers.
    private func schedule() -> any TimerToken {
        timeSource.schedule(after: Self.patience) { [self] in
            queue.async { self.stopWaiting() }
        }
    }

    private func stopWaiting() {
        state.withLock { state in
            do {
                try showAsItCame(&state)
            } catch {
                state = .failed(error)
            }
        }
    }
}

extension MediaType {
    /// JSON media types are those of RFC 8259 and RFC 6839 §3.1.
    var isJSON: Bool { subtype == "json" || suffix == "json" }
}
