// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// A connection that libcurl opens for another protocol.
///
/// ``UpgradeStateMachine`` decides. Reader and writers use libcurl on their own threads. The thread
/// of ``UpgradeLoop`` wakes waiting readers and writers when the socket is ready, and sends the
/// remaining bytes.
final class CurlUpgrade: UpgradedChannel {
    private struct State {
        var life: UpgradeStateMachine
        var link: UpgradeLink?
        var socket: Int32 = -1
        // The polled sides of the socket. Polling for reading ends only at an event without a
        // reader, because a reader that returns earlier must cost no system call.
        var polled: Int32 = 0
        // Whether the last read took all arrived bytes.
        var isDrained = false
        // Bytes that arrived after the head, or before a failure.
        var early = Data()
        var queue: [UpgradeLink.Chunk] = []
        var queued = 0
        var reader: OneShot<Void>?
        var writers: [OneShot<Void>] = []
        var fault: (any Error)?

        mutating func takeWriters() -> [OneShot<Void>] {
            guard queued <= CurlUpgrade.highWater else { return [] }
            defer { writers = [] }
            return writers
        }
    }

    private struct FollowUp {
        var actions: UpgradeStateMachine.Actions = []
        var fault: (any Error)?
        var link: UpgradeLink?
        // The tasks that may continue, and the tasks whose bytes will not be sent.
        var ready: [OneShot<Void>] = []
        var failed: [OneShot<Void>] = []
    }

    private static let highWater = 65_536
    private static let reading: Int32 = 1
    private static let writing: Int32 = 2

    let destination: Destination?
    private let transfer: CurlTransfer
    private let upgrades: UpgradeLoop
    // The time limit for a connection, by the loop's clock.
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

    var executor: (any TaskExecutor)? { upgrades }

    func connect() async throws -> CurlTimes {
        try upgrades.add(self)
        // The connection may have been closed before the addition to `upgrades`.
        if state.withLock({ $0.life.state == .closed }) { upgrades.remove(self, -1) }
        return try await connected.value { [self] in close() }
    }

    /// Inserts bytes before the unread bytes.
    func putBack(_ bytes: Data) { state.withLock { $0.early = bytes + $0.early } }

    func read(upTo maxBytes: Int) async throws -> Data? {
        while true {
            let moment = OneShot<Void>()
            let (result, followUp) = state.withLock {
                tryRead(&$0, upTo: min(max(1, maxBytes), Self.highWater), or: moment)
            }
            carryOut(followUp)
            if let result { return try result.get() }
            try await moment.value { moment.settle(.failure(CancellationError())) }
        }
    }

    func write(_ bytes: Data) async throws {
        let (moment, followUp) = try state.withLock { state in
            guard state.life.state == .open else { throw state.fault ?? Self.isClosed }
            if !bytes.isEmpty { state.queue.append(UpgradeLink.Chunk(bytes)) }
            state.queued += bytes.count
            // If older bytes remain, the thread of the loop sends these bytes first.
            let followUp = state.queue.count > 1 ? FollowUp() : send(&state)
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

    /// While the upgrade connects: the awaited descriptor, and the time limit.
    var wait: (descriptor: Int32, due: Int64) {
        state.withLock { state in
            switch state.life.state {
            case .connecting:
                guard let wait = state.link?.wait else { return (-1, connectDue) }
                return (wait.descriptor, min(wait.due, connectDue))
            case .waiting: return (-1, connectDue)
            default: return (-1, 0)
            }
        }
    }

    /// Begins to connect, after permission within the limits.
    func begin() {
        guard state.withLock({ $0.life.handle(.admitted) }).contains(.begin) else { return }
        do {
            let link = try UpgradeLink(transfer, upgrades.options)
            state.withLock { $0.link = link }
        } catch {
            end(failing: error)
        }
    }

    func goOnOpening() {
        let (present, link) = state.withLock { ($0.life.state, $0.link) }
        guard present != .waiting else { return failIfLate(hadPlace: false) }
        // This call runs without the lock, because the address rule may close the connection.
        if let link, present == .connecting { connect(link) }
        failIfLate(hadPlace: true)
        advance(.threadPassed)
    }

    private func connect(_ link: UpgradeLink) {
        do {
            guard let (socket, times) = try link.connect(transfer) else { return }
            // This step is first, because a thread that closes this connection removes the
            // connection from `upgrades`.
            upgrades.didOpen(self, socket)
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

    func goOn(_ sides: Int32) {
        let followUp = state.withLock { state in
            if state.link == nil { return FollowUp() }
            var followUp = FollowUp()
            if sides & Self.writing & state.polled != 0 { followUp = send(&state) }
            guard sides & Self.reading != 0, state.link != nil else { return followUp }
            if let reader = state.reader.take() {
                followUp.ready.append(reader)
            } else {
                poll(state.polled & ~Self.reading, &state)
            }
            return followUp
        }
        carryOut(followUp)
    }

    // MARK: Under the lock

    // Reads bytes, or returns nil if the reader must wait.
    private func tryRead(
        _ state: inout State, upTo room: Int, or moment: OneShot<Void>
    ) -> (Result<Data?, any Error>?, FollowUp) {
        if !state.early.isEmpty {
            defer { state.early = Data(state.early.dropFirst(room)) }
            return (.success(Data(state.early.prefix(room))), FollowUp())
        }
        guard let link = state.link, state.life.state != .connecting else {
            return (.failure(state.fault ?? Self.isClosed), FollowUp())
        }
        switch state.isDrained ? .later : link.read(upTo: room) {
        case .moved(let bytes):
            // The TLS library may hold bytes that the socket no longer has.
            state.isDrained = bytes.count < room && !transfer.request.isSecure
            return (.success(bytes.isEmpty ? nil : bytes), FollowUp())
        case .failed: return (.failure(Self.isBroken), fail(&state))
        case .later:
            state.reader = moment
            state.isDrained = false
            return (nil, poll(state.polled | Self.reading, &state) ? FollowUp() : fail(&state))
        }
    }

    // Polls the socket, which must be open. Returns false if the system cannot poll the socket.
    @discardableResult
    private func poll(_ sides: Int32, _ state: inout State) -> Bool {
        let former = state.polled
        state.polled = sides
        return sides == former || upgrades.poll(state.socket, for: sides, insteadOf: former)
    }

    // Sends as many bytes as the connection accepts now.
    private func send(_ state: inout State) -> FollowUp {
        while let chunk = state.queue.first, let link = state.link {
            switch link.send(chunk) {
            case .later:
                let polls = poll(state.polled | Self.writing, &state)
                return polls ? FollowUp(ready: state.takeWriters()) : fail(&state)
            case .failed:
                // The unread bytes may contain the peer's reason for the end.
                while state.early.count < Self.highWater,
                    case .moved(let bytes) = link.read(upTo: Self.highWater), !bytes.isEmpty
                {
                    state.early += bytes
                }
                return fail(&state)
            case .moved(let count):
                state.queued -= count
                if chunk.isSent { state.queue.removeFirst() }
            }
        }
        let writers = state.takeWriters()
        var followUp = handle(.allSent, &state)
        followUp.ready += writers
        if state.link != nil { poll(state.polled & ~Self.writing, &state) }
        return followUp
    }

    // MARK: Events and actions

    private func advance(_ event: UpgradeStateMachine.Event, failing fault: (any Error)? = nil) {
        carryOut(state.withLock { handle(event, &$0, failing: fault) })
    }

    private func handle(
        _ event: UpgradeStateMachine.Event, _ state: inout State, failing fault: (any Error)? = nil
    ) -> FollowUp {
        var followUp = FollowUp(actions: state.life.handle(event))
        if followUp.actions.contains(.endSending) { state.link?.endSending() }
        if followUp.actions.contains(.notify) {
            followUp.fault = fault
            // The reader notices the end when the reader tries again.
            followUp.ready = [state.reader.take()].compactMap(\.self)
            followUp.failed = state.writers
            (state.fault, state.queue, state.queued, state.writers) = (fault, [], 0, [])
            if fault == nil { state.early = Data() }
        }
        if followUp.actions.contains(.free) { followUp.link = state.link.take() }
        return followUp
    }

    private func fail(_ state: inout State) -> FollowUp {
        handle(.ended, &state, failing: Self.isBroken)
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
        if followUp.actions.contains(.leave) {
            upgrades.remove(self, state.withLock { $0.socket })
        }
    }

    private static let isClosed = fault("the connection is closed")
    private static let isBroken = fault("the connection was lost")
    private static func fault(_ message: String) -> ClientError {
        ClientError(.connection, message, transfer: TransferState(.receiving))
    }
}
