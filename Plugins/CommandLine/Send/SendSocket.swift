// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeCore
import TurnpikeInspection
import TurnpikeWebSocket

/// `turnpike send wss://…`: sends each line of the input as a message, and shows the received
/// messages until one side closes the socket.
struct SendSocket: Sendable {
    let options: SendOptions
    let terminal: Terminal
    let trace: SendTrace?

    // The default limit for received messages.
    private static let maxLineBytes = 16_777_216

    func run(with client: Client) async -> Int32 {
        var call = client.get(Target(options.url), headers: options.fields)
        // The limit and the trace cover only the handshake, because a socket may be open for days.
        if let timeout = options.timeout { call = call.deadline(timeout) }
        if options.trace != nil { call = call.traced() }
        do {
            let opening: Result<WebSocket, any Error>
            do {
                opening = .success(try await call.webSocket())
            } catch {
                opening = .failure(error)
            }
            if let recorded = call.trace { try options.trace?.show(recorded, terminal) }
            try await talk(over: try opening.get())
            return ExitCode.success
        } catch let error as ClientError {
            terminal.error(error.description)
            return ExitCode.of(error)
        } catch is CancellationError {
            return ExitCode.interrupted
        } catch {
            return terminal.ended(by: error)
        }
    }

    private func talk(over socket: WebSocket) async throws {
        let display = SendDisplay(terminal, isPretty: options.isPretty)
        if options.showsHead { try display.show(socket.head) }
        trace?.note("the socket is open")
        try await withThrowingTaskGroup { group in
            group.addTask { try await sendLines(over: socket) }
            defer { group.cancelAll() }
            for try await message in socket.messages { try show(message, on: display) }
            if let closure = socket.closure { trace?.note("the server closed: \(closure)") }
            group.cancelAll()
            do {
                try await group.next()
            } catch is ClientError, is CancellationError {
                // The server closed before a line was sent. The end of the messages has the reason.
                try Task.checkCancellation()
            }
        }
    }

    private func sendLines(over socket: WebSocket) async throws {
        let lines = InputLines(maxBytes: Self.maxLineBytes, read: terminal.input)
        do {
            while let line = try await lines.next() {
                guard case .whole(let bytes) = line else {
                    throw OutputError(
                        description: "a line of the input has more than \(Self.maxLineBytes) bytes")
                }
                guard let text = String(validating: bytes, as: UTF8.self) else {
                    throw OutputError(description: "a line of the input is not UTF-8")
                }
                try await socket.send(.text(text))
            }
        } catch {
            // Closing the socket also ends the messages.
            try? await socket.close(.goingAway)
            throw error
        }
        try await socket.close()
    }

    private func show(_ message: WebSocket.Message, on display: SendDisplay) throws {
        // If a message is not JSON, the message is shown unchanged.
        display.begin(["Content-Type": "application/json"])
        let isShown = try display.write(message.content)
        try display.end()
        if isShown, !terminal.outputIsTerminal { try terminal.output(Data("\n".utf8)) }
    }
}
