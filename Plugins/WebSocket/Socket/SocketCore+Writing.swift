// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

// Methods that write messages, control frames, and the socket's own pings.
extension SocketCore {
    func send(_ opcode: Opcode, _ content: Data) async throws {
        try await messageTurn.run { try await write(opcode, content, isFirst: true, isLast: true) }
        connection.report(messageOf: content.count, isSent: true)
    }

    // Sends a message of fragments. The closure returns the next fragment, or nil at the end.
    func send(_ opcode: Opcode, fragments next: () async throws -> Data?) async throws {
        try await messageTurn.run {
            var isFirst = true
            do {
                while let content = try await next() {
                    try await write(opcode, content, isFirst: isFirst, isLast: false)
                    connection.report(messageOf: content.count, isSent: true)
                    isFirst = false
                }
                try await write(opcode, Data(), isFirst: isFirst, isLast: true)
            } catch {
                // An incomplete message prevents other messages. The socket must therefore be
                // closed.
                if !isFirst { close(.serverError, reason: "") }
                throw error
            }
        }
    }

    private func write(
        _ opcode: Opcode, _ content: Data, isFirst: Bool, isLast: Bool
    ) async throws {
        try await frameTurn.run {
            try Task.checkCancellation()
            var hasBegun = false
            do {
                if state.withLock({ $0.hasBacklog }) {
                    try await connection.write(Data())
                    state.withLock { $0.hasBacklog = false }
                }
                // Pings are answered first, because this message may answer a message that arrived
                // after the pings.
                let controls = state.withLock { state in
                    state.machine.state == .open ? state.takeControls().frames : nil
                }
                guard let controls else { throw closedError }
                let content = try deflater?.deflate(content, isLast: isLast) ?? content
                let frame = FrameWriter.frame(
                    isFirst ? opcode : .continuation, content, isFinal: isLast,
                    isCompressed: isFirst && deflater != nil)
                hasBegun = true
                try await connection.write(controls.isEmpty ? frame : controls + frame)
            } catch let error as CancellationError {
                state.withLock { $0.hasBacklog = true }
                // The frame is sent nevertheless, as the beginning of an incomplete message.
                if hasBegun, !isLast { close(.serverError, reason: "") }
                throw error
            } catch {
                throw isOpen ? Self.lost(error) : closedError
            }
        }
    }

    var closedError: ClientError {
        let message = "the socket is closed and sends nothing more"
        guard let closure else { return ClientError(.webSocketClosed, message) }
        return ClientError(.webSocketClosed, "\(message) (\(closure))").attaching(closure)
    }

    func writeControls() {
        let isFirst = state.withLock { state in
            defer { state.isWritingControls = true }
            return !state.isWritingControls
        }
        // No code awaits this task. The task ends when no control frame remains. A close of the
        // connection ends each write, and thereby the task.
        guard isFirst else { return }
        Task(executorPreference: connection.executor) { await self.writeAllControls() }
    }

    private func writeAllControls() async {
        // The task takes the frames while the task holds the turn. No message can precede the
        // frames.
        while let isClose = try? await frameTurn.run({ () -> Bool? in
            let (frames, isClose) = state.withLock { state in
                let controls = state.takeControls()
                state.isWritingControls = !controls.frames.isEmpty
                return controls
            }
            if frames.isEmpty { return nil }
            try? await connection.write(frames)
            return isClose
        }) {
            if isClose { handle(.closeWritten) }
        }
    }

    // MARK: Keep-alive

    func schedulePing() {
        guard let interval = options.keepAlive else { return }
        schedule(\.pingTimer, after: interval) { $0.sendPing() }
    }

    private func sendPing() {
        guard isOpen else { return }
        state.withLock { state in
            state.pingCount &+= 1
            state.ping = Data(String(state.pingCount).utf8)
            state.awaitedPong = state.ping
            state.hasRead = false
        }
        awaitPong()
        writeControls()
    }

    private func awaitPong() {
        schedule(\.pingTimer, after: options.pongLimit) { $0.checkPong() }
    }

    private func checkPong() {
        let (isWaiting, hasRead) = state.withLock { state in
            defer { state.hasRead = false }
            return (state.awaitedPong != nil, state.hasRead)
        }
        guard isWaiting else { return }
        // The pong may be behind bytes that have arrived: no frame can interrupt another frame, and
        // while a slow reader fills the inbox, the socket reads nothing from the connection.
        if hasRead || inbox.isHolding { return awaitPong() }
        handle(
            .pongMissed,
            ending: .failure(
                ClientError(
                    .idleTimeout, "no pong came within \(options.pongLimit.text) of a ping")))
    }

    func didReceivePong(_ content: Data) {
        let timer = state.withLock { state -> (any TimerToken)? in
            guard state.awaitedPong == content else { return nil }
            state.awaitedPong = nil
            return state.pingTimer.take()
        }
        guard let timer else { return }
        timer.cancel()
        schedulePing()
    }
}
