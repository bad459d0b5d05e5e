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
        // Control frames that wait to be written.
        var pongs: [Data] = []
        var ping: Data?
        var close: Data?
        var isWritingControls = false
        var limit: (any TimerToken)?
        var pingTimer: (any TimerToken)?
        var pingCount: UInt32 = 0
        var awaitedPong: Data?
    }

    let inbox = Inbox()
    let connection: UpgradedConnection
    let options: WebSocket.Options
    let timeSource: any TimeSource
    private let agreement: DeflateAgreement?
    let deflater: MessageDeflater?
    let state = Mutex(State())
    private let end = SharedValue<Void>()
    // Messages are written one after another, and so are frames. A control frame may be written
    // between two fragments of a message.
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
        // the client or a time limit closes the connection at the latest.
        Task { await read() }
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
                try await inbox.waitForRoom()
                guard let bytes = try await connection.read(upTo: Self.readBytes) else { break }
                // Bytes after a close frame or a violation are ignored.
                guard mayReceive else { continue }
                do {
                    reader.add(bytes)
                    while let event = try reader.next() {
                        try await take(event, inflater, &text)
                        if case .close = event { break }
                    }
                } catch let violation as Violation {
                    handle(
                        .violated, closing: FrameWriter.close(violation.code, reason: ""),
                        ending: .failure(violation.error))
                }
                inbox.wakeReader()
            }
            handle(.connectionEnded, ending: .failure(Self.lost(nil)))
        } catch {
            handle(.connectionEnded, ending: .failure(Self.lost(error)))
        }
    }

    private var mayReceive: Bool {
        state.withLock { $0.machine.state == .open || $0.machine.state == .closing }
    }

    private func take(
        _ event: FrameReader.Event, _ inflater: MessageInflater?, _ text: inout UTF8Check
    ) async throws {
        switch event {
        case .ping(let content):
            state.withLock { state in
                // If there are many pings, the socket needs to answer only the last ones (RFC 6455
                // §5.5.3).
                if state.pongs.count == Self.maxPongs { state.pongs.removeFirst() }
                state.pongs.append(content)
            }
            writeControls()
        case .pong(let content): didReceivePong(content)
        case .close(let code, let reason): peerClosed(code, reason)
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
        while !inbox.put(fragment) { try await inbox.waitForRoom() }
    }

    private func peerClosed(_ code: WebSocket.CloseCode?, _ reason: String) {
        let closure = WebSocket.Closure(code: code, reason: reason)
        state.withLock { $0.closure = $0.closure ?? closure }
        let error = closure.error
        handle(
            .peerClosed, closing: FrameWriter.close(code, reason: ""),
            ending: error.map { .failure($0) } ?? .success(()))
    }

    // MARK: The end

    func close(_ code: WebSocket.CloseCode, reason: String) {
        handle(.closeAsked, closing: FrameWriter.close(code, reason: reason))
    }

    func waitForEnd() async throws { try await end.value() }

    func abandon() { handle(.abandoned) }

    func handle(
        _ event: SocketStateMachine.Event, closing frame: Data = Data(),
        ending result: Result<Void, any Error> = .success(())
    ) {
        let (before, actions) = state.withLock { state in
            let before = state.machine.state
            let actions = state.machine.handle(event)
            if actions.contains(.sendClose) { state.close = frame }
            return (before, actions)
        }
        if actions.contains(.dropExcess) { inbox.dropExcess() }
        if actions.contains(.endMessages) {
            // If the client has asked to close, the server's close code is not an error.
            let isAsked = before == .closing && event != .violated
            inbox.end(isAsked ? .success(()) : result)
        }
        if actions.contains(.startLimit) { startLimit() }
        if actions.contains(.sendClose) { writeControls() }
        if actions.contains(.closeConnection) { closeConnection() }
    }

    private func startLimit() {
        let timer = timeSource.schedule(after: options.closeLimit) { [weak self] in
            self?.handle(.limitPassed)
        }
        state.withLock { $0.limit = timer }
        cancelTimersIfEnded()
    }

    private func closeConnection() {
        connection.close()
        cancelTimersIfEnded()
        end.settle(.success(()))
    }

    func cancelTimersIfEnded() {
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

extension Violation {
    var error: ClientError {
        ClientError(code == .messageTooBig ? .tooLarge : .protocol, message)
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
