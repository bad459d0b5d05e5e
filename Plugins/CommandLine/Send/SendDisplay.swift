// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike
import TurnpikeCore
import TurnpikeSupport

/// Shows a response on the output: byte for byte, or as text for a person if it is a terminal.
///
/// A terminal gets JSON indented, no control characters of a peer, and a line end after the content.
final class SendDisplay: Sendable {
    private enum State {
        /// The output is not a terminal.
        case bytes
        /// Content is shown as it arrives.
        case text(TerminalText)
        /// JSON that has not arrived completely.
        case json(Data, timer: (any TimerToken)?)
        /// The content is not text, and the rest of it is not shown.
        case hidden
        /// The terminal could not be written to outside of a call.
        case failed(any Error)
        /// Nothing more is shown until another content begins, even if a reader is still active.
        case ended
    }

    /// How long JSON is awaited, from its first byte, before it is shown as it arrives.
    static let patience = Duration.seconds(1)

    private let terminal: Terminal
    private let isPretty: Bool
    private let timeSource: any TimeSource
    private let queue = DispatchQueue(label: "turnpike.display")
    private let state: Mutex<State>

    /// Creates a display.
    /// - Parameters:
    ///   - terminal: The terminal.
    ///   - isPretty: Whether a terminal gets JSON indented.
    ///   - timeSource: The source of time.
    init(
        _ terminal: Terminal, isPretty: Bool, timeSource: any TimeSource = SystemTimeSource()
    ) {
        self.terminal = terminal
        self.isPretty = isPretty && terminal.outputIsTerminal
        self.timeSource = timeSource
        state = Mutex(.ended)
    }

    /// Writes the head of a response, and an empty line.
    func show(_ head: ResponseHead) throws {
        let version = head.version.map { "/\($0)" } ?? ""
        var lines = ["HTTP\(version) \(head.status)"]
        lines += head.headers.map { "\($0.name): \($0.value)" }
        if terminal.outputIsTerminal { lines = lines.map(Grammar.escaped) }
        try terminal.output(Data((lines + ["", ""]).joined(separator: "\n").utf8))
    }

    /// Prepares for the content of a response.
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

    /// Shows content, at once or when it can be laid out.
    /// - Returns: False if no more content is going to be shown.
    func write(_ chunk: Data) throws -> Bool {
        try state.withLock { state in
            switch state {
            case .bytes: try terminal.output(chunk)
            case .json(var content, let timer):
                // Appending must not copy what the state holds.
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

    /// Shows what is left, even if the content is not complete, and ends the last line.
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

    /// Shows a value of this program, as one line if the output is not a terminal.
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

    // The terminal may be stopped, and the thread of the timers must not wait for it.
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
    /// Whether content of this type is one JSON text (RFC 8259, RFC 6839 §3.1).
    var isJSON: Bool { subtype == "json" || suffix == "json" }
}
