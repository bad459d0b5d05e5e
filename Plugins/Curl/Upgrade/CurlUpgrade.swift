// SPDX-License-Identifier: Apache-2.0

import CTurnpikeCurl
import Foundation
import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// A connection that libcurl has made for another protocol.
///
/// Its reader and its writers use libcurl on their own threads. If they must wait, the thread of
/// ``UpgradeLoop`` tells them when to go on, and sends what is left.
final class CurlUpgrade: UpgradedChannel {
    private enum Phase {
        case connecting
        case open
        /// Open, until all bytes are sent.
        case finishing
        /// Only the other side is open.
        case finished
        case closed
    }

    /// Bytes to be sent, which stay at their address: libcurl must be offered the same ones again.
    // SAFETY: the memory is its own.
    @safe private final class Chunk: @unchecked Sendable {
        let memory: UnsafeMutableRawBufferPointer
        var sent = 0

        init(_ bytes: Data) {
            unsafe memory = .allocate(byteCount: bytes.count, alignment: 1)
            unsafe memory.copyBytes(from: bytes)
        }

        deinit { unsafe memory.deallocate() }
    }

    // SAFETY: inside the lock.
    private struct State: @unchecked Sendable {
        let handle: CurlHandle
        let loop: CurlLoop
        var phase = Phase.connecting
        var socket: Int32 = -1
        // Bytes that came behind the head.
        var early = Data()
        var queue: [Chunk] = []
        var queued = 0
        var reader: OneShot<Void>?
        var writers: [OneShot<Void>] = []
        var fault: ClientError?
    }

    private enum Reading {
        case bytes(Data?)
        case later(OneShot<Void>)
    }

    private static let highWater = 65_536
    private static let pieceBytes = 65_536

    private let transfer: CurlTransfer
    private let upgrades: UpgradeLoop
    private let connected = OneShot<CurlTimes>()
    private let state: Mutex<State>

    /// - Throws: The errors of an engine for a transfer that cannot begin.
    init(_ transfer: CurlTransfer, in upgrades: UpgradeLoop) throws {
        self.transfer = transfer
        self.upgrades = upgrades
        let options = upgrades.options
        let loop = try CurlLoop(options.limits)
        var made: CurlHandle?
        do {
            let handle = try loop.makeHandle(options)
            made = handle
            if let trust = transfer.trust { try options.apply(trust, to: handle) }
            var code = unsafe tpc_upgrade_prepare(handle.pointer)
            if code == 0 { code = handle.begin(transfer) }
            if code != 0 {
                throw CurlFault.of(code, text: handle.faultText(code), handle: handle, transfer)
            }
            state = Mutex(State(handle: handle, loop: loop))
        } catch {
            made?.end()
            made?.free()
            loop.free()
            throw error
        }
    }

    deinit { close() }

    // MARK: The connection

    /// Waits until there is a connection.
    func connect() async throws -> CurlTimes {
        try upgrades.add(self)
        return try await connected.value { [self] in close() }
    }

    /// Puts bytes in front of those that were not read yet.
    func putBack(_ bytes: Data) { state.withLock { $0.early = bytes + $0.early } }

    func read(upTo maxBytes: Int) async throws -> Data? {
        while true {
            switch try state.withLock({ try tryRead(&$0, upTo: max(1, maxBytes)) }) {
            case .bytes(let bytes): return bytes
            case .later(let moment):
                upgrades.wake()
                try await moment.value { moment.settle(.failure(CancellationError())) }
            }
        }
    }

    private func tryRead(_ state: inout State, upTo maxBytes: Int) throws -> Reading {
        if state.phase == .closed { throw state.fault ?? Self.isClosed }
        if !state.early.isEmpty {
            defer { state.early = Data(state.early.dropFirst(maxBytes)) }
            return .bytes(Data(state.early.prefix(maxBytes)))
        }
        var bytes = Data(count: min(maxBytes, Self.pieceBytes))
        let count = unsafe bytes.withUnsafeMutableBytes {
            unsafe tpc_upgrade_read(state.handle.pointer, $0.baseAddress, $0.count)
        }
        if count == Int(TPC_READ_WAIT) {
            let moment = OneShot<Void>()
            state.reader = moment
            return .later(moment)
        }
        if count < 0 { throw Self.isBroken }
        return .bytes(count == 0 ? nil : bytes.prefix(count))
    }

    func write(_ bytes: Data) async throws {
        let moment = try state.withLock { state -> OneShot<Void>? in
            guard state.phase == .open else { throw state.fault ?? Self.isClosed }
            if bytes.isEmpty { return nil }
            state.queue.append(Chunk(bytes))
            state.queued += bytes.count
            send(&state)
            if let fault = state.fault { throw fault }
            guard state.queued > Self.highWater else { return nil }
            let moment = OneShot<Void>()
            state.writers.append(moment)
            return moment
        }
        upgrades.wake()
        try await moment?.value { moment?.settle(.failure(CancellationError())) }
    }

    func finishWriting() async throws {
        state.withLock { state in
            guard state.phase == .open else { return }
            state.phase = .finishing
            send(&state)
        }
        upgrades.wake()
        if transfer.request.isSecure, state.withLock({ $0.phase == .finished }) { close() }
    }

    func close() { end(nil) }

    private func end(_ fault: ClientError?) {
        let waiting = state.withLock { state -> [OneShot<Void>]? in
            if state.phase == .closed { return nil }
            state.phase = .closed
            state.fault = fault
            state.queue = []
            defer {
                state.reader = nil
                state.writers = []
            }
            state.handle.end()
            state.handle.free()
            state.loop.free()
            return state.writers + [state.reader].compactMap(\.self)
        }
        guard let waiting else { return }
        upgrades.remove(self)
        connected.settle(.failure(fault ?? CancellationError()))
        // They find out why when they try again.
        for moment in waiting {
            moment.settle(fault.map { .failure($0) } ?? .failure(Self.isClosed))
        }
    }

    // MARK: The thread of the loop

    /// What the connection waits for, or nil.
    var interest: (descriptor: Int32, events: Int16, due: Int64)? {
        state.withLock { state in
            switch state.phase {
            case .closed: return nil
            case .connecting: return (state.loop.descriptor, Int16(POLLIN), state.loop.due)
            case .open, .finishing, .finished:
                let events =
                    (state.reader == nil ? 0 : POLLIN) | (state.queue.isEmpty ? 0 : POLLOUT)
                return events == 0 ? nil : (state.socket, Int16(events), .max)
            }
        }
    }

    /// Goes on after a wait.
    func act(isReady: Bool) {
        var ended = false
        var fault: ClientError?
        let ready = state.withLock { state -> [OneShot<Void>] in
            switch state.phase {
            case .closed: return []
            case .connecting:
                fault = step(&state)
                return []
            case .open, .finishing, .finished:
                guard isReady else { return [] }
                send(&state)
                fault = state.fault
                ended = transfer.request.isSecure && state.phase == .finished
                var ready = [state.reader].compactMap(\.self)
                state.reader = nil
                if state.queued <= Self.highWater {
                    ready += state.writers
                    state.writers = []
                }
                return ready
            }
        }
        if ended || fault != nil { end(fault) }
        for moment in ready { moment.settle(.success(())) }
    }

    private func step(_ state: inout State) -> ClientError? {
        let (loop, handle) = (state.loop, state.handle)
        loop.wait(0)
        loop.beginIteration()
        loop.act()
        loop.runTimers()
        if loop.takeRefusal() { handle.nudge() }
        loop.endIteration()
        while loop.nextReady() != nil {}
        guard let code = handle.result else { return nil }
        state.socket = code == 0 ? unsafe tpc_upgrade_socket(handle.pointer) : -1
        guard state.socket >= 0 else {
            return CurlFault.of(code, text: handle.faultText(code), handle: handle, transfer)
        }
        state.phase = .open
        connected.settle(.success(handle.times))
        return nil
    }

    // Sends what the connection takes now.
    private func send(_ state: inout State) {
        while let chunk = state.queue.first {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: chunk.memory[chunk.sent...])
            let count = unsafe tpc_upgrade_write(
                state.handle.pointer, rest.baseAddress, rest.count)
            if count == Int(TPC_READ_WAIT) { return }
            if count < 0 {
                state.fault = Self.isBroken
                return
            }
            chunk.sent += count
            state.queued -= count
            if count == rest.count { state.queue.removeFirst() }
        }
        guard state.phase == .finishing else { return }
        state.phase = .finished
        // TLS ends both sides at once.
        if !transfer.request.isSecure { unsafe tpc_upgrade_finish(state.handle.pointer) }
    }

    private static var isClosed: ClientError {
        ClientError(
            .connection, "the connection is closed", transfer: TransferState(.receiving))
    }
    private static var isBroken: ClientError {
        ClientError(
            .connection, "the connection broke off", transfer: TransferState(.receiving))
    }
}
