// SPDX-License-Identifier: Apache-2.0

import CTurnpikeValkey
import Foundation
import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// The connections of a client, and the thread that waits for the connections.
///
/// Callers write their commands themselves if no thread is writing. Commands that other callers add
/// during a write are sent in one piece. The thread connects, reads, and enforces the time limits.
/// The ``ConnectionStateMachine`` of each connection receives the events, and returns the action.
final class ValkeyEngine: Sendable {
    let url: ValkeyURL
    let tls: TLSContext?
    let configuration: ValkeyServer.Configuration
    let timeSource: any TimeSource
    let state: Mutex<State>
    let poller: Poller
    /// The jobs of tasks that run on the thread.
    let jobs = JobQueue()
    private let meter: (any GateMeter)?
    private let over = SharedValue<Void>()

    static var isShutDown: ClientError {
        ClientError(.cancelled, "the Valkey client was shut down; make a new one")
    }

    // With a quarter of this size, 64 simultaneous look-ups of 64 KiB take 10 to 20 % longer
    // (`bench fleet-cache`), because the kernel acknowledges each read separately.
    private static let inputSize = 256 << 10
    // The maximum number of reads from one connection before the other connections are served.
    private static let readsInARow = 16

    init(
        url: ValkeyURL, tls: TLSContext?, configuration: ValkeyServer.Configuration,
        meter: (any GateMeter)?, timeSource: any TimeSource = SystemTimeSource(),
        randomSource: any RandomSource = SystemRandomSource()
    ) throws {
        self.url = url
        self.tls = tls
        self.configuration = configuration
        self.timeSource = timeSource
        self.meter = meter
        poller = try Poller()
        let home = Node(url.addresses)
        // The thread connects at once, because the first command should find a connection.
        home.wantedAt = Poller.now
        state = Mutex(State(home: home, random: randomSource.generator(forCall: 0)))
        for (name, text) in Figures.help { meter?.describe(name, as: text) }
        // The counters exist from the start, because an alert must notice the first failure as a
        // change.
        for name in ["commands", "failures", "connects"] {
            meter?.add(0, to: "turnpike.valkey." + name, labels: [:])
        }
        // `stop` or `shutdown` ends the thread, and the client's `deinit` calls `stop`.
        let thread = Thread { self.run() }
        // The stack has the system's default size, because tasks may run on this thread.
        thread.stackSize = 8 << 20
        thread.qualityOfService = .userInitiated
        thread.start()
    }

    // The thread has already ended, because a running thread keeps the engine alive.
    deinit { poller.free() }

    // MARK: From any thread

    func stop() {
        state.withLock { if $0.ending == .none { $0.ending = .asked } }
        poller.wake()
    }

    func shutdown() async {
        stop()
        try? await over.value()
    }

    // MARK: The thread

    private enum Work {
        case write(Writing)
        case read(Connection)
    }

    private func run() {
        unsafe tpv_enter_thread("turnpike.valkey")
        var polls: [tpv_poll] = []
        var connections: [Connection] = []
        var work: [Work] = []
        var replies: [ValkeyValue] = []
        var input = [UInt8](repeating: 0, count: Self.inputSize)
        var outcomes = Outcomes()
        var list: [UnownedJob] = []
        while true {
            poller.setTurn(true)
            runJobs(&list)
            writeOwn()
            poller.setTurn(false)
            let (goesOn, figures) = withState { state in
                (turn(&state, &polls, &connections), state.figures.take())
            }
            if let meter { figures.tell(meter) }
            if !goesOn { break }
            poller.wait(&polls, sleeping: jobs.isEmpty)
            withState { state in
                state.isAsleep = false
                for (poll, connection) in zip(polls, connections) {
                    if poll.is_writable { tell(connection, .writable, &state, &work) }
                    if poll.is_readable { tell(connection, .readable, &state, &work) }
                }
            }
            poller.setTurn(true)
            for item in work {
                switch item {
                case .write(let writing): write(writing)
                case .read(let connection): read(connection, &input, &replies, &outcomes)
                }
            }
            work.removeAll(keepingCapacity: true)
        }
        jobs.close()
        runJobs(&list)
        over.settle(.success(()))
    }

    /// Does the due work and prepares the next wait, or returns false at the end of the thread.
    private func turn(
        _ state: inout State, _ polls: inout [tpv_poll], _ connections: inout [Connection]
    ) -> Bool {
        polls.removeAll(keepingCapacity: true)
        connections.removeAll(keepingCapacity: true)
        if state.ending != .none {
            state.ending = .over
            for node in state.allNodes {
                for connection in node.connections { close(connection, &state, Self.isShutDown) }
                failLine(of: node, &state, Self.isShutDown)
            }
            return false
        }
        let due = keepTime(&state)
        if due < state.alarm || state.alarm <= Poller.now { setAlarm(due, &state) }
        for node in state.allNodes {
            for connection in node.connections where connection.fd >= 0 {
                var poll = tpv_poll()
                poll.fd = connection.fd
                poll.wants_write = connection.life.wantsWrite
                polls.append(poll)
                connections.append(connection)
            }
        }
        state.isAsleep = true
        return true
    }

    private func tell(
        _ connection: Connection, _ event: ConnectionStateMachine.Event, _ state: inout State,
        _ work: inout [Work]
    ) {
        switch connection.life.handle(event) {
        case .check: connected(connection, &state)
        case .handshake: handshake(connection, &state)
        case .write: work.append(.write(connection.takeOutput(at: Poller.now)))
        case .read: work.append(.read(connection))
        default: break
        }
    }

    private func read(
        _ connection: Connection, _ input: inout [UInt8], _ replies: inout [ValkeyValue],
        _ outcomes: inout Outcomes
    ) {
        guard let channel = connection.channel else { return }
        // With TLS, the thread reads all bytes, because a poll does not report bytes that OpenSSL
        // has already read.
        for _ in 0..<(channel.tls == nil ? Self.readsInARow : .max) {
            let count = channel.receive(&input)
            if count == Int64(TPV_AGAIN) { return }
            var fault: ClientError?
            if count > 0 {
                do {
                    try channel.reader.read(input[..<Int(count)]) { replies.append($0) }
                } catch {
                    let beginning = input.prefix(min(Int(count), 16))
                    fault = Self.brokenProtocol(connection, channel, error, beginning)
                }
            } else {
                fault = Self.lost(connection, channel, count)
            }
            if !replies.isEmpty { channel.hasReceived = true }
            let isOver = state.withLock { state in
                take(&replies, from: connection, &state)
                if let fault { fail(connection, &state, fault) }
                swap(&outcomes, &state.outcomes)
                return connection.life.isOver
            }
            outcomes.resume()
            replies.removeAll(keepingCapacity: true)
            if isOver || count < input.count && channel.tls == nil { return }
        }
    }

    private static func brokenProtocol(
        _ connection: Connection, _ channel: Channel, _ error: any Error, _ bytes: ArraySlice<UInt8>
    ) -> ClientError {
        if !channel.hasReceived,
            let fault = ValkeyFault.notRedis(Array(bytes), at: "\(connection.address)")
        {
            return fault
        }
        let text = (error as? ClientError)?.message ?? "the protocol is broken"
        return ClientError(
            .protocol,
            "\(connection.address) sent a reply that breaks the protocol or a limit: \(text)")
    }

    private static func lost(
        _ connection: Connection, _ channel: Channel, _ count: Int64
    ) -> ClientError {
        let reason = count == 0 ? "the server closed the connection" : text(ofError: -count)
        if channel.hasReceived {
            return ClientError(
                .connection, "the connection to \(connection.address) was lost: \(reason)")
        }
        let advice =
            connection.isKnown
            ? "" : "; if the server expects TLS, write rediss:// instead of redis:// in the URL"
        return ClientError(
            .connection,
            "\(connection.address) ended the connection before it answered (\(reason))\(advice)")
    }

    static func text(ofError code: Int64) -> String {
        unsafe String(cString: strerror(Int32(clamping: code)))
    }
}
