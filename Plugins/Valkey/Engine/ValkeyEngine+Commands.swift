// SPDX-License-Identifier: Apache-2.0

import CTurnpikeValkey
import Foundation
import Synchronization
import TurnpikeCore
import TurnpikeSupport

extension ValkeyEngine {
    /// Sends a command, and waits for the reply, which may be an error of the server.
    nonisolated(nonsending) func exchange(
        _ command: ValkeyCommand, to route: Route, _ pending: PendingReply
    ) async throws -> ValkeyValue {
        guard let bytes = Wire.bytes(command.arguments) else {
            let text = "the command has no name, or is larger than 512 MiB"
            throw ClientError(.invalidRequest, text)
        }
        await withTaskCancellationHandler {
            unsafe await withUnsafeContinuation { continuation in
                if unsafe !submit(bytes, route, pending, continuation) {
                    unsafe continuation.resume()
                }
            }
        } onCancel: {
            let continuation = unsafe state.withLock { _ in
                unsafe pending.settle(.failure(CancellationError()))
            }
            unsafe continuation?.resume()
        }
        return try pending.takeResult()
    }

    /// - Returns: False if a result already exists, and the caller must not wait.
    private func submit(
        _ bytes: [UInt8], _ route: Route, _ pending: PendingReply,
        _ continuation: UnsafeContinuation<Void, Never>
    ) -> Bool {
        let (waits, writing) = withState { state -> (Bool, Writing?) in
            guard !pending.isOver else { return (false, nil) }
            do {
                let writing = try place(bytes, route, pending, &state)
                state.figures.commands += 1
                unsafe pending.wait(with: continuation)
                return (true, writing)
            } catch {
                unsafe _ = pending.settle(.failure(error))
                state.figures.failures += 1
                return (false, nil)
            }
        }
        if let writing { write(writing) }
        return waits
    }

    /// - Returns: The bytes that the caller must write, or nil if another thread writes.
    private func place(
        _ bytes: [UInt8], _ route: Route, _ pending: PendingReply, _ state: inout State
    ) throws -> Writing? {
        if state.ending != .none { throw Self.isShutDown }
        try checkRoom(for: bytes.count, state)
        let node = state.node(for: route)
        // The clock is read inside the lock, because the wait for the lock may have passed the
        // limit.
        let now = Poller.now
        node.wantedAt = now
        if pending.deadline <= now { throw late(pending, at: node.address) }
        if let connection = node.bestConnection {
            append(bytes, route, pending, to: connection, now, &state)
            connection.gathering.add()
            return placed(pending, on: connection, now, &state)
        }
        if !node.isTrying, now < node.retryAt, let fault = node.fault { throw fault }
        state.append(QueuedCommand(bytes: bytes, pending: pending, route: route), to: node)
        state.wake()
        return nil
    }

    private func placed(
        _ pending: PendingReply, on connection: Connection, _ now: Int64, _ state: inout State
    ) -> Writing? {
        if poller.isTurn {
            // The engine's thread reads the alarm and writes the remaining bytes before the next
            // wait.
            state.hasOwn = true
            let (bytes, underWay) = (connection.output.count, connection.life.pending.count)
            guard connection.gathering.isPiece(bytes, of: underWay) else { return nil }
            return beginWrite(connection, now)
        }
        if pending.deadline < state.alarm { setAlarm(pending.deadline, &state) }
        if !connection.life.isIdle || holds(connection, at: now, &state) { return nil }
        // With TLS, only the engine's thread writes.
        if tls == nil { return beginWrite(connection, now) }
        leave(connection, &state)
        return nil
    }

    private func checkRoom(for count: Int, _ state: borrowing State) throws {
        if state.waiting >= configuration.maxWaitingCommands {
            throw ClientError(
                .overloaded,
                "\(state.waiting) commands wait for replies of Valkey; send fewer at once, or raise"
                    + " maxWaitingCommands")
        }
        if state.unsentBytes + count > configuration.maxWaitingBytes {
            throw ClientError(
                .overloaded,
                "more than \(configuration.maxWaitingBytes) bytes wait to be sent to Valkey; send"
                    + " less at once, or raise maxWaitingBytes")
        }
    }

    func append(
        _ bytes: [UInt8], _ route: Route, _ pending: PendingReply,
        to connection: Connection, _ now: Int64, _ state: inout State
    ) {
        if case .asking = route {
            let command = pendingCommand(.asking, nil, pending.deadline, now)
            append(Wire.asking, command, to: connection, &state)
        }
        pending.server = connection.address
        append(
            bytes, pendingCommand(.command, pending, pending.deadline, now), to: connection, &state)
        connection.nextDeadline = min(connection.nextDeadline, pending.deadline)
    }

    func append(
        _ bytes: [UInt8], _ command: PendingCommand, to connection: Connection,
        _ state: inout State
    ) {
        connection.append(bytes)
        _ = connection.life.handle(.submitted(command))
        state.waiting += 1
    }

    func pendingCommand(
        _ kind: PendingCommand.Kind, _ reply: PendingReply?, _ deadline: Int64, _ now: Int64
    ) -> PendingCommand {
        let limit = now.addingClamped(configuration.stallLimit.wholeNanoseconds)
        return PendingCommand(kind: kind, reply: reply, stallsAt: max(limit, deadline))
    }

    func setAlarm(_ time: Int64, _ state: inout State) {
        state.alarm = time
        poller.setAlarm(time)
    }

    func late(_ pending: PendingReply, at address: NodeAddress) -> ClientError {
        ClientError(
            .attemptTimeout, "\(address) has not answered within \(pending.limit.text)")
    }

    // MARK: Writing

    private func holds(_ connection: Connection, at now: Int64, _ state: inout State) -> Bool {
        let (gathering, underWay) = (connection.gathering, connection.life.pending.count)
        guard gathering.holds(connection.output.count, of: underWay, at: now) else { return false }
        if gathering.deadline < state.alarm { setAlarm(gathering.deadline, &state) }
        return true
    }

    func beginWrite(_ connection: Connection, _ now: Int64) -> Writing? {
        guard case .write = connection.life.handle(.outputReady(byCaller: true)) else { return nil }
        return connection.takeOutput(at: now)
    }

    /// Leaves the output of a connection to the engine's thread.
    func leave(_ connection: Connection, _ state: inout State) {
        guard !connection.output.isEmpty,
            case .poll = connection.life.handle(.outputReady(byCaller: false))
        else { return }
        state.wake()
    }

    func write(_ writing: Writing) {
        let (connection, channel) = (writing.connection, writing.connection.channel)
        var rest = writing.rest
        var goesOn = true
        while goesOn {
            let count = channel?.send(rest) ?? 0
            goesOn = withState { state in wrote(count, &rest, connection, &state) }
        }
    }

    /// - Returns: Whether more bytes must be written. If true, `rest` contains the bytes.
    private func wrote(
        _ count: Int64, _ rest: inout Writing.Rest, _ connection: Connection, _ state: inout State
    ) -> Bool {
        if count > 0 { rest.drop(Int(count)) }
        let now = Poller.now
        let isAll = count >= 0 && rest.isEmpty
        let event: ConnectionStateMachine.Event =
            if count < 0 {
                .writeFailed
            } else if !isAll {
                .wrote(.part)
            } else {
                .wrote(
                    connection.output.isEmpty || holds(connection, at: now, &state)
                        ? .nothing : .more)
            }
        connection.putBack(&rest, sent: Int(max(count, 0)))
        switch connection.life.handle(event) {
        case .write:
            rest = connection.takeOutput(at: now).rest
            return true
        case .poll: state.wake()
        // The engine's thread notices the shutdown too, and first reads the bytes that have
        // arrived.
        case .shutDown: tpv_shutdown(connection.fd)
        case .release: connection.release()
        default: break
        }
        return false
    }
}

extension Int64 {
    /// Returns the sum, or after an overflow the largest or smallest number.
    func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other > 0 ? .max : .min) : sum
    }
}
