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
    func send(
        _ opcode: Opcode, fragments next: () async throws -> Data?
    ) async throws {
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
                // A message cannot be abandoned after its first fragment.
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
            // Earlier pings are answered first, because this message may answer a message that came
            // after them.
            guard let pongs = takePongs() else { throw closedError }
            do {
                let content = try deflater?.deflate(content, isLast: isLast) ?? content
                let frame = FrameWriter.frame(
                    isFirst ? opcode : .continuation, content, isFinal: isLast,
                    isCompressed: isFirst && deflater != nil)
                try await connection.write(pongs.isEmpty ? frame : pongs + frame)
            } catch let error as CancellationError {
                throw error
            } catch {
                throw isOpen ? Self.lost(error) : closedError
            }
        }
    }

    private var closedError: ClientError {
        let closure = closure
        let error = ClientError(
            .webSocketClosed,
            "the socket is closed and sends nothing more" + (closure.map { " (\($0))" } ?? ""))
        return closure.map { error.attaching($0) } ?? error
    }

    func writeControls() {
        let isFirst = state.withLock { state in
            defer { state.isWritingControls = true }
            return !state.isWritingControls
        }
        // No code awaits this task. The task ends when no control frame remains, or when the
        // connection is closed, which ends each write.
        if isFirst { Task { await writeAllControls() } }
    }

    private func writeAllControls() async {
        // The frame is taken while the task holds the turn, so that no message can come before it.
        while let control = try? await frameTurn.run({
            let control = takeControl()
            if let control { try? await connection.write(control.frame) }
            return control
        }) {
            if control.isClose { handle(.closeWritten) }
        }
    }

    // Returns the frames of the pongs, or nil if the socket is closed.
    private func takePongs() -> Data? {
        let pongs = state.withLock { state -> [Data]? in
            guard state.machine.state == .open else { return nil }
            defer { state.pongs = [] }
            return state.pongs
        }
        return pongs?.reduce(Data()) { $0 + FrameWriter.frame(.pong, $1) }
    }

    private func takeControl() -> (frame: Data, isClose: Bool)? {
        state.withLock { state in
            if state.machine.state == .open {
                if !state.pongs.isEmpty {
                    return (FrameWriter.frame(.pong, state.pongs.removeFirst()), false)
                }
                if let ping = state.ping.take() { return (FrameWriter.frame(.ping, ping), false) }
            }
            if let close = state.close.take() { return (close, true) }
            state.isWritingControls = false
            return nil
        }
    }

    // MARK: Keep-alive

    func schedulePing() {
        guard let interval = options.keepAlive else { return }
        schedule(after: interval) { $0.sendPing() }
    }

    private func schedule(
        after delay: Duration, _ act: @escaping @Sendable (SocketCore) -> Void
    ) {
        let timer = timeSource.schedule(after: delay) { [weak self] in
            if let self { act(self) }
        }
        state.withLock { $0.pingTimer = timer }
        cancelTimersIfEnded()
    }

    private func sendPing() {
        guard isOpen else { return }
        state.withLock { state in
            state.pingCount &+= 1
            let content = Data(String(state.pingCount).utf8)
            state.ping = content
            state.awaitedPong = content
        }
        schedule(after: options.pongLimit) { $0.checkPong() }
        writeControls()
    }

    private func checkPong() {
        guard state.withLock({ $0.awaitedPong != nil }) else { return }
        // No task reads the messages, so the pong may be among the bytes that the socket has not
        // read.
        if inbox.isFull { return schedule(after: options.pongLimit) { $0.checkPong() } }
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
