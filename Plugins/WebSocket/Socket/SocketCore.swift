// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// The part of a socket that has no reference to its owner, the ``WebSocket``.
///
/// The core reads and writes frames, and performs the actions of the state machine.
final class SocketCore: Sendable {
    struct State {
        var machine = SocketStateMachine()
        var closure: WebSocket.Closure?
        var endedAt: MonotonicInstant?
        // Control frames that wait to be written.
        var pongs: [Data] = []
        var ping: Data?
        var close: Data?
        var isWritingControls = false
        var limit: (any TimerToken)?
        var pingTimer: (any TimerToken)?
        var pingCount: UInt32 = 0
        var awaitedPong: Data?
        // Whether bytes have arrived since the ping or the last check for the pong.
        var hasRead = false
        // Whether a sender was cancelled during a write. In this case, the next sender waits first.
        var hasBacklog = false

        /// Takes the control frames that may still be written, with the close frame at the end.
        mutating func takeControls() -> (frames: Data, isClose: Bool) {
            var frames = Data()
            if machine.state == .open {
                for pong in pongs { frames += FrameWriter.frame(.pong, pong) }
                if let ping = ping.take() { frames += FrameWriter.frame(.ping, ping) }
            }
            pongs = []
            guard let close = close.take() else { return (frames, false) }
            return (frames + close, true)
        }
    }

    let inbox = Inbox()
    let connection: UpgradedConnection
    let options: WebSocket.Options
    let timeSource: any TimeSource
    private let agreement: DeflateAgreement?
    let deflater: MessageDeflater?
    let state = Mutex(State())
    let end = SharedValue<Void>()
    // Messages do not overlap, and frames do not overlap. A control frame may be written between
    // two fragments of a message.
    let messageTurn = Turn()
    let frameTurn = Turn()

    private static let readBytes = 16_384
    private static let maxPongs = 64

    init(
        _ connection: UpgradedConnection, deflate agreement: DeflateAgreement?,
        options: WebSocket.Options, timeSource: any TimeSource
    ) {
        self.connection = connection
        self.agreement = agreement
        self.options = options
        self.timeSource = timeSource
        deflater =
            options.compression == .both ? agreement.map { MessageDeflater($0) } : nil
    }

    var closure: WebSocket.Closure? { state.withLock { $0.closure } }

    var isOpen: Bool { state.withLock { $0.machine.state == .open } }

    func start() {
        // No code awaits this task, which ends with the connection. `WebSocket.deinit`, the end of
        // the client or a time limit closes the connection at the latest. The task reads on the
        // thread that waits for sockets. A message therefore wakes only the reader's thread.
        Task(executorPreference: connection.executor) { await self.read() }
        schedulePing()
    }

    // MARK: Reading

    private func read() async {
        var reader = FrameReader(
            maxMessageBytes: options.maxMessageBytes, mayBeCompressed: agreement != nil)
        let inflater = agreement.map {
            MessageInflater($0, maxMessageBytes: options.maxMessageBytes)
        }
        var text = UTF8Check()
        do {
            while true {
                guard let bytes = try await connection.read(upTo: Self.readBytes) else { break }
                // Bytes after a close frame or a violation are ignored.
                let present = state.withLock { state in
                    state.hasRead = true
                    return state.machine.state
                }
                guard present == .open || present == .closing else { continue }
                do {
                    reader.add(bytes)
                    while let event = try reader.next() {
                        try await take(event, inflater, &text)
                        if case .close = event { break }
                    }
                } catch let violation as Violation {
                    let code: ClientError.Code =
                        violation.code == .messageTooBig ? .tooLarge : .protocol
                    handle(
                        .violated, closing: FrameWriter.close(violation.code, reason: ""),
                        ending: .failure(ClientError(code, violation.message)))
                }
                inbox.wakeReader()
            }
            handle(.connectionEnded, ending: .failure(Self.lost(nil)))
        } catch {
            handle(.connectionEnded, ending: .failure(Self.lost(error)))
        }
    }

    private func take(
        _ event: FrameReader.Event, _ inflater: MessageInflater?, _ text: inout UTF8Check
    ) async throws {
        switch event {
        case .ping(let content):
            state.withLock { state in
                // Of many pings, the socket needs to answer only the last ones (RFC 6455 §5.5.3).
                if state.pongs.count == Self.maxPongs { state.pongs.removeFirst() }
                state.pongs.append(content)
            }
            writeControls()
        case .pong(let content): didReceivePong(content)
        case .close(let code, let reason):
            let closure = WebSocket.Closure(code: code, reason: reason)
            state.withLock { $0.closure = closure }
            handle(
                .peerClosed, closing: FrameWriter.close(code, reason: ""),
                ending: closure.error.map { .failure($0) } ?? .success(()))
        case .content(let content, let message, let isLast):
            guard message.isCompressed, let inflater else {
                return try await deliver(content, message.isText, isLast: isLast, &text)
            }
            inflater.add(content, isLast: isLast)
            while let (piece, isLast) = try inflater.next() {
                try await deliver(piece, message.isText, isLast: isLast, &text)
            }
        }
    }

    private func deliver(
        _ content: Data, _ isText: Bool, isLast: Bool, _ check: inout UTF8Check
    ) async throws {
        if isText {
            guard check.add(content), !isLast || check.isComplete else {
                throw Violation(.invalidContent, "the peer sent text that is not UTF-8")
            }
        }
        if content.isEmpty && !isLast { return }
        let fragment = WebSocket.Fragment(content: content, isText: isText, isLast: isLast)
        while !inbox.put(fragment) {
            try await inbox.waitForRoom()
            state.withLock { $0.hasRead = true }
        }
    }

    // MARK: The end

    func close(_ code: WebSocket.CloseCode, reason: String) {
        handle(.closeAsked, closing: FrameWriter.close(code, reason: reason))
    }

    func handle(
        _ event: SocketStateMachine.Event, closing frame: Data = Data(),
        ending result: Result<Void, any Error> = .success(())
    ) {
        let (before, actions) = state.withLock { state in
            let before = state.machine.state
            let actions = state.machine.handle(event)
            if actions.contains(.sendClose) { state.close = frame }
            if actions.contains(.endMessages) { state.endedAt = timeSource.now }
            return (before, actions)
        }
        // The senders that wait get an error.
        if before == .open, !actions.isEmpty { messageTurn.end() }
        if actions.contains(.dropExcess) { inbox.dropExcess() }
        if actions.contains(.endMessages) {
            // After a close frame of the client, the server's close code is not an error.
            let isAsked = before == .closing && event != .violated
            inbox.end(isAsked ? .success(()) : result)
        }
        if actions.contains(.startLimit) {
            schedule(\.limit, after: options.closeLimit) { $0.handle(.limitPassed) }
        }
        if actions.contains(.sendClose) { writeControls() }
        guard actions.contains(.closeConnection) else { return }
        connection.close()
        cancelTimersIfEnded()
        end.settle(.success(()))
    }

    func schedule(
        _ place: WritableKeyPath<State, (any TimerToken)?>, after delay: Duration,
        _ act: @escaping @Sendable (SocketCore) -> Void
    ) {
        let timer = timeSource.schedule(after: delay) { [weak self] in
            if let self { act(self) }
        }
        state.withLock { $0[keyPath: place] = timer }
        cancelTimersIfEnded()
    }

    private func cancelTimersIfEnded() {
        let timers = state.withLock { state -> [(any TimerToken)?] in
            guard state.machine.state == .ended else { return [] }
            return [state.limit.take(), state.pingTimer.take()]
        }
        for timer in timers { timer?.cancel() }
    }

    static func lost(_ error: (any Error)?) -> ClientError {
        ClientError(
            .connection, "the connection ended before the server sent a close frame",
            underlying: error)
    }
}

extension WebSocket.Closure: CustomStringConvertible {
    /// The code and the reason as text.
    public var description: String {
        let code = code.map { String($0.rawValue) } ?? "no code"
        return reason.isEmpty ? code : "\(code): \(Grammar.escaped(reason))"
    }

    /// The error for the closure, or nil if the server closed normally.
    var error: ClientError? {
        guard let code, code != .normal else { return nil }
        return ClientError(
            code.isPassing ? .connection : .webSocketClosed,
            "the server closed the socket (\(self))"
        ).attaching(self)
    }
}
