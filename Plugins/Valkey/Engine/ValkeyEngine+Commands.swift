// SPDX-License-Identifier: Apache-2.0

import CTurnpikeValkey
import Foundation
import Synchronization
import TurnpikeCore
import TurnpikeSupport

extension ValkeyEngine {
    /// Sends a command, and waits for its reply.
    /// - Returns: The reply, which may be an error of the server.
    nonisolated(nonsending) func exchange(
        _ command: ValkeyCommand, to route: Route, _ pending: PendingReply
    ) async throws -> ValkeyValue {
        await withTaskCancellationHandler {
            unsafe await withUnsafeContinuation { continuation in
                if unsafe !submit(command, route, pending, continuation) {
                    unsafe continuation.resume()
                }
            }
        } onCancel: {
            let continuation = unsafe core.withLock { _ in
                unsafe pending.settle(.failure(CancellationError()))
            }
            unsafe continuation?.resume()
        }
        return try pending.takeResult()
    }

    /// - Returns: False if there is a result already, for which nobody waits.
    private func submit(
        _ command: ValkeyCommand, _ route: Route, _ pending: PendingReply,
        _ continuation: UnsafeContinuation<Void, Never>
    ) -> Bool {
        let waits =
            if let wire = command.wire {
                unsafe wire.withUnsafeBytes { bytes -> Bool? in
                    unsafe enqueue(bytes, route, pending, continuation)
                }
            } else {
                unsafe Wire.format(command.arguments) { bytes in
                    unsafe enqueue(bytes, route, pending, continuation)
                }
            }
        if let waits { return waits }
        let text = "the command has no name, or more than 512 MiB"
        core.withLock { _ in
            unsafe _ = pending.settle(.failure(ClientError(.invalidRequest, text)))
        }
        return false
    }

    private enum Step {
        case nothing
        case write(Link)
        case wake
    }

    private func enqueue(
        _ bytes: UnsafeRawBufferPointer, _ route: Route, _ pending: PendingReply,
        _ continuation: UnsafeContinuation<Void, Never>
    ) -> Bool {
        let step = core.withLock { core -> Step? in
            guard !pending.isOver else { return nil }
            do {
                let step = try unsafe place(bytes, route, pending, &core)
                core.figures.commands += 1
                unsafe pending.wait(with: continuation)
                return step
            } catch {
                unsafe _ = pending.settle(.failure(error))
                core.figures.failures += 1
                return nil
            }
        }
        switch step {
        case nil: return false
        case .nothing: break
        case .write(let link): write(link)
        case .wake: poller.wake()
        }
        return true
    }

    private func place(
        _ bytes: UnsafeRawBufferPointer, _ route: Route, _ pending: PendingReply,
        _ core: inout Core
    ) throws -> Step {
        if core.ending != .none { throw Self.isShutDown }
        try checkRoom(for: bytes.count, core)
        let node = core.node(for: route, connections: configuration.connections)
        // Not before the lock: a connection may have failed meanwhile, or the limit have ended.
        let now = Poller.now
        node.wantedAt = now
        if pending.deadline <= now { throw late(pending, at: node.address) }
        if let link = node.bestLink {
            unsafe append(bytes, route, pending, to: link, now, &core)
            link.gathering.add()
            if poller.isTurn { return placedHere(on: link, now, &core) }
            return placed(pending, on: link, now, &core)
        }
        if !node.isTrying, now < node.retryAt, let fault = node.fault { throw fault }
        node.line.append(
            QueuedCommand(bytes: unsafe [UInt8](bytes), pending: pending, route: route))
        core.lineBytes += bytes.count
        core.waiting += 1
        if core.isAsleep {
            core.isAsleep = false
            return .wake
        }
        return .nothing
    }

    private func placed(
        _ pending: PendingReply, on link: Link, _ now: Int64, _ core: inout Core
    ) -> Step {
        if pending.deadline < core.alarm { setAlarm(pending.deadline, &core) }
        if !link.canWrite || holds(link, at: now, &core) { return .nothing }
        // OpenSSL works on one thread.
        if link.tls != nil { return send(link, &core) ? .wake : .nothing }
        beginWrite(link, now)
        return .write(link)
    }

    // The thread looks at its alarm before it waits, and writes the rest then.
    private func placedHere(on link: Link, _ now: Int64, _ core: inout Core) -> Step {
        core.hasOwn = true
        let isPiece = link.gathering.isPiece(link.output.count, of: link.slots.count)
        guard link.canWrite, isPiece else { return .nothing }
        beginWrite(link, now)
        return .write(link)
    }

    private func checkRoom(for count: Int, _ core: borrowing Core) throws {
        if core.waiting >= configuration.maxWaitingCommands {
            throw ClientError(
                .overloaded,
                "\(core.waiting) commands wait for replies of Valkey; send fewer at once, or raise"
                    + " maxWaitingCommands")
        }
        if core.unsentBytes() + count > configuration.maxWaitingBytes {
            throw ClientError(
                .overloaded,
                "more than \(configuration.maxWaitingBytes) bytes wait to be sent to Valkey; send"
                    + " less at once, or raise maxWaitingBytes")
        }
    }

    /// Adds a command to what a connection sends.
    func append(
        _ bytes: UnsafeRawBufferPointer, _ route: Route, _ pending: PendingReply, to link: Link,
        _ now: Int64, _ core: inout Core
    ) {
        let stallsAt = max(
            now.addingClamped(configuration.stallLimit.wholeNanoseconds), pending.deadline)
        if case .asking = route {
            unsafe Wire.asking.withUnsafeBytes { unsafe link.append($0) }
            link.slots.append(Slot(kind: .asking, pending: nil, stallsAt: stallsAt))
            core.waiting += 1
        }
        unsafe link.append(bytes)
        pending.server = link.address
        link.slots.append(Slot(kind: .command, pending: pending, stallsAt: stallsAt))
        core.waiting += 1
        link.nextDeadline = min(link.nextDeadline, pending.deadline)
    }

    func setAlarm(_ time: Int64, _ core: inout Core) {
        core.alarm = time
        poller.setAlarm(time)
    }

    func late(_ pending: PendingReply, at address: NodeAddress) -> ClientError {
        ClientError(
            .attemptTimeout, "\(address) has not answered within \(pending.limit.text)")
    }

    // MARK: Writing

    /// Whether what a connection is to send waits for more.
    private func holds(_ link: Link, at now: Int64, _ core: inout Core) -> Bool {
        let (gathering, underWay) = (link.gathering, link.slots.count)
        guard gathering.holds(link.output.count, of: underWay, at: now) else { return false }
        if gathering.deadline < core.alarm { setAlarm(gathering.deadline, &core) }
        return true
    }

    /// Makes the caller the one who writes.
    func beginWrite(_ link: Link, _ now: Int64) {
        link.isWriting = true
        link.gathering.sent(at: now)
        swap(&link.output, &link.sending)
    }

    /// Sends what there is, and what others add meanwhile.
    func write(_ link: Link) {
        while true {
            let count = unsafe link.sending.withUnsafeBufferPointer { bytes -> Int64 in
                guard let base = bytes.baseAddress, link.sent < bytes.count else { return 0 }
                let count = bytes.count - link.sent
                return unsafe link.tls?.send(base + link.sent, count)
                    ?? tpv_send(link.fd, base + link.sent, count)
            }
            let (isMore, wakes) = core.withLock { core in endWrite(link, count, &core) }
            if wakes { poller.wake() }
            if !isMore { return }
        }
    }

    private func endWrite(_ link: Link, _ count: Int64, _ core: inout Core) -> (Bool, Bool) {
        if count > 0 { link.sent += Int(count) }
        let isAll = count >= 0 && link.sent >= link.sending.count
        if isAll || link.closesAfterWrite || count < 0 {
            // The memory of a large command is not kept.
            link.sending.removeAll(keepingCapacity: link.sending.capacity <= 1 << 18)
            link.sent = 0
        }
        if link.closesAfterWrite {
            link.closesAfterWrite = false
            link.isWriting = false
            release(link)
            return (false, false)
        }
        if count < 0 {
            // The thread sees it too, and reads what came before it.
            link.writeFault = count
            link.isWriting = false
            link.isBlocked = true
            tpv_shutdown(link.fd)
            return (false, false)
        }
        if isAll, !link.output.isEmpty {
            let now = Poller.now
            if !holds(link, at: now, &core) {
                beginWrite(link, now)
                return (true, false)
            }
        }
        link.isWriting = false
        if isAll { return (false, false) }
        link.isBlocked = true
        defer { core.isAsleep = false }
        return (false, core.isAsleep)
    }

    /// Closes the descriptor of a connection that nobody uses.
    func release(_ link: Link) {
        if link.fd >= 0 { tpv_close(link.fd) }
        link.fd = -1
    }
}

extension Int64 {
    /// The sum, or the largest number.
    func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other > 0 ? .max : .min) : sum
    }
}
