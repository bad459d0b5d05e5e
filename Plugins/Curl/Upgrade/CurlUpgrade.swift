// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// A connection that libcurl makes for another protocol.
///
/// ``UpgradeStateMachine`` decides. Its reader and its writers use libcurl on their own threads. If they
/// must wait, the thread of ``UpgradeLoop`` tells them when to go on, and sends what is left.
final class CurlUpgrade: UpgradedChannel {
    private struct State {
        var life: UpgradeStateMachine
        var link: UpgradeLink?
        var socket: Int32 = -1
        // Bytes that came behind the head, or before a failure.
        var early = Data()
        var queue: [UpgradeLink.Chunk] = []
        var queued = 0
        var reader: OneShot<Void>?
        var writers: [OneShot<Void>] = []
        var fault: (any Error)?
    }

    private enum Reading {
        case bytes(Data?)
        case later(OneShot<Void>)
        case failed(any Error)
    }

    /// What is left to be done without the lock.
    private struct FollowUp {
        var actions: UpgradeStateMachine.Actions = []
        var fault: (any Error)?
        var link: UpgradeLink?
        // Those who may go on, and those whose bytes are not sent any more.
        var ready: [OneShot<Void>] = []
        var failed: [OneShot<Void>] = []
    }

    private static let highWater = 65_536

    /// The place that it connects to.
    let destination: Destination?
    private let transfer: CurlTransfer
    private let upgrades: UpgradeLoop
    // When it must have a connection, by the clock of the loop.
    private let connectDue: Int64
    private let connected = OneShot<CurlTimes>()
    private let state: Mutex<State>

    init(_ transfer: CurlTransfer, in upgrades: UpgradeLoop) {
        self.transfer = transfer
        self.upgrades = upgrades
        destination = transfer.destination
        connectDue = CurlLoop.now + Int64(upgrades.options.connectTimeout)
        state = Mutex(State(life: UpgradeStateMachine(isSecure: transfer.request.isSecure)))
    }

    // MARK: From any thread

    /// Waits until there is a connection.
    func connect() async throws -> CurlTimes {
        try upgrades.add(self)
        // It may have been closed before it was there to be removed.
        if state.withLock({ $0.life.state == .closed }) { upgrades.remove(self) }
        return try await connected.value { [self] in close() }
    }

    /// Puts bytes in front of those that were not read yet.
    func putBack(_ bytes: Data) { state.withLock { $0.early = bytes + $0.early } }

    func read(upTo maxBytes: Int) async throws -> Data? {
        while true {
            let (reading, followUp) = state.withLock { tryRead(&$0, upTo: max(1, maxBytes)) }
            carryOut(followUp)
            switch reading {
            case .bytes(let bytes): return bytes
            case .failed(let fault): throw fault
            case .later(let moment):
                upgrades.wake()
                try await moment.value { moment.settle(.failure(CancellationError())) }
            }
        }
    }

    func write(_ bytes: Data) async throws {
        let (moment, followUp) = try state.withLock { state in
            guard state.life.state == .open else { throw state.fault ?? Self.isClosed }
            if !bytes.isEmpty { state.queue.append(UpgradeLink.Chunk(bytes)) }
            state.queued += bytes.count
            let followUp = send(&state)
            let moment = state.queued > Self.highWater ? OneShot<Void>() : nil
            if let moment { state.writers.append(moment) }
            return (moment, followUp)
        }
        carryOut(followUp)
        if let fault = followUp.fault { throw fault }
        try await moment?.value { moment?.settle(.failure(CancellationError())) }
    }

    func finishWriting() async throws {
        let followUp = state.withLock { state in
            _ = state.life.handle(.finishAsked)
            return send(&state)
        }
        carryOut(followUp)
        if let fault = followUp.fault { throw fault }
    }

    func close() { advance(.ended) }

    func end(failing fault: any Error) { advance(.ended, failing: fault) }

    // MARK: The thread of the loop

    /// What the connection waits for, or nil.
    var interest: (descriptor: Int32, events: Int16, due: Int64)? {
        state.withLock { state in
            switch state.life.state {
            case .closed: return nil
            case .abandoned: return (-1, 0, 0)
            case .waiting: return (-1, 0, connectDue)
            case .connecting:
                guard let wait = state.link?.wait else { return (-1, 0, connectDue) }
                return (wait.descriptor, Int16(POLLIN), min(wait.due, connectDue))
            case .open, .finishing, .finished:
                let events =
                    (state.reader == nil ? 0 : POLLIN) | (state.queue.isEmpty ? 0 : POLLOUT)
                return events == 0 ? nil : (state.socket, Int16(events), .max)
            }
        }
    }

    /// Begins to connect, once it has a place.
    func begin() {
        guard state.withLock({ $0.life.handle(.admitted) }).contains(.begin) else { return }
        do {
            let link = try UpgradeLink(transfer, upgrades.options)
            state.withLock { $0.link = link }
        } catch {
            end(failing: error)
        }
    }

    /// Goes on after a wait.
    func act(isReady: Bool) {
        let (present, link) = state.withLock { ($0.life.state, $0.link) }
        switch present {
        case .closed: return
        case .open, .finishing, .finished: if isReady { goOn() }
        case .waiting: failIfLate(hadPlace: false)
        case .connecting, .abandoned:
            // Without the lock: libcurl calls the address rule, which may close this connection.
            if let link, present == .connecting { connect(link) }
            failIfLate(hadPlace: true)
            advance(.threadPassed)
        }
    }

    private func connect(_ link: UpgradeLink) {
        do {
            guard let (socket, times) = try link.connect(transfer) else { return }
            let actions = state.withLock { state in
                state.socket = socket
                return state.life.handle(.connected)
            }
            if actions.contains(.open) { connected.settle(.success(times)) }
        } catch {
            end(failing: error)
        }
    }

    private func failIfLate(hadPlace: Bool) {
        guard !connected.isSettled, connectDue <= CurlLoop.now else { return }
        let target = transfer.request.route?.target
        end(failing: CurlFault.noConnection(to: target, hadPlace: hadPlace))
    }

    private func goOn() {
        let followUp = state.withLock { state in
            var followUp = send(&state)
            followUp.actions.remove(.wake)
            followUp.ready += [state.reader.take()].compactMap(\.self)
            if state.queued <= Self.highWater {
                followUp.ready += state.writers
                state.writers = []
            }
            return followUp
        }
        carryOut(followUp)
    }

    // MARK: Under the lock

    private func tryRead(_ state: inout State, upTo maxBytes: Int) -> (Reading, FollowUp) {
        if !state.early.isEmpty {
            defer { state.early = Data(state.early.dropFirst(maxBytes)) }
            return (.bytes(Data(state.early.prefix(maxBytes))), FollowUp())
        }
        guard let link = state.link, state.life.state != .connecting else {
            return (.failed(state.fault ?? Self.isClosed), FollowUp())
        }
        switch link.read(upTo: min(maxBytes, Self.highWater)) {
        case .moved(let bytes): return (.bytes(bytes.isEmpty ? nil : bytes), FollowUp())
        case .failed:
            return (.failed(Self.isBroken), handle(.ended, &state, failing: Self.isBroken))
        case .later:
            let moment = OneShot<Void>()
            state.reader = moment
            return (.later(moment), FollowUp())
        }
    }

    // Sends what the connection takes now.
    private func send(_ state: inout State) -> FollowUp {
        while let chunk = state.queue.first, let link = state.link {
            switch link.send(chunk) {
            case .later: return FollowUp(actions: .wake)
            case .failed:
                // The peer may have told why it takes no more.
                while state.early.count < Self.highWater,
                    case .moved(let bytes) = link.read(upTo: Self.highWater), !bytes.isEmpty
                {
                    state.early += bytes
                }
                return handle(.ended, &state, failing: Self.isBroken)
            case .moved(let count):
                state.queued -= count
                if chunk.isSent { state.queue.removeFirst() }
            }
        }
        return handle(.allSent, &state)
    }

    // MARK: Events and actions

    private func advance(
        _ event: UpgradeStateMachine.Event, failing fault: (any Error)? = nil
    ) {
        carryOut(state.withLock { handle(event, &$0, failing: fault) })
    }

    private func handle(
        _ event: UpgradeStateMachine.Event, _ state: inout State, failing fault: (any Error)? = nil
    ) -> FollowUp {
        var followUp = FollowUp(actions: state.life.handle(event))
        if followUp.actions.contains(.endSending) { state.link?.endSending() }
        if followUp.actions.contains(.notify) {
            followUp.fault = fault
            // The reader finds out when it tries again.
            followUp.ready = [state.reader.take()].compactMap(\.self)
            followUp.failed = state.writers
            (state.fault, state.queue, state.queued, state.writers) = (fault, [], 0, [])
            if fault == nil { state.early = Data() }
        }
        if followUp.actions.contains(.free) { followUp.link = state.link.take() }
        return followUp
    }

    private func carryOut(_ followUp: FollowUp) {
        if followUp.actions.contains(.notify) {
            connected.settle(.failure(followUp.fault ?? CancellationError()))
        }
        for moment in followUp.ready { moment.settle(.success(())) }
        for moment in followUp.failed {
            moment.settle(.failure(followUp.fault ?? Self.isClosed))
        }
        if followUp.actions.contains(.wake) { upgrades.wake() }
        followUp.link?.free()
        if followUp.actions.contains(.leave) { upgrades.remove(self) }
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
