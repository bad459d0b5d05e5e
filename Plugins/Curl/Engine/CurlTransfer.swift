// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// One exchange in an engine, between libcurl's handle and the caller's ``/TurnpikeCore/Exchange``.
/// ``TransferStateMachine`` decides. The transfer converts libcurl's reports to events, and
/// performs the actions for the handle and the exchange. ``TransferTable`` performs the rest.
// SAFETY: `exchange` is set before an engine has the transfer. After that, `exchange` and all
// members below the mark “Under the engine's lock” are used only under that lock.
final class CurlTransfer: @unchecked Sendable {
    private enum Head {
        case unread(HeadBytes)
        case read(Result<Exchange.Head, ClientError>)
    }

    let request: CurlRequest
    let upload: CurlUpload?
    /// The content of the trust files, which is set before an engine has the transfer.
    var trust: TrustFiles.Content?
    // The origin whose HTTP/3 offer the transfer uses, or nil. The origin is set before an engine
    // has the transfer.
    var alternative: AlternativeOrigin?
    private let url: URL
    private let isHead: Bool
    private let pending = Atomic<UInt8>(Orders.unstarted.rawValue)
    private var exchange: Exchange?
    // The caller takes these times. After a cancellation, an engine may still write the times.
    private let keptTimes = Mutex<CurlTimes?>(nil)
    // The engine owns the head until the exchange gets the head. After that, only the caller uses
    // the head (`read`).
    private var head: Head?

    // MARK: Under the engine's lock

    private(set) var life: TransferStateMachine
    private var handle: CurlHandle?
    /// The transfer's index in the table's list, or -1.
    var place = -1
    var position = ConnectQueue.Position.unasked
    /// The transfers that the queue counts together with this transfer, or nil for `unasked`.
    var host: ConnectQueue.Host?
    /// The time limit for a connection, by the loop's clock.
    var connectDue: Int64 = 0
    /// The host or connect target to which transfers may share one connection; see
    /// ``ConnectQueue``.
    private(set) var sharedHost: Destination?
    /// Whether the transfer needs a new connection.
    ///
    /// libcurl used a connection that had ended or had unrequested bytes, or the server has refused
    /// the transfer twice on shared connections.
    private(set) var needsConnection = false

    init(
        _ request: Request, wire: consuming CurlRequest, upload: CurlUpload?, offersHTTP2: Bool
    ) {
        sharedHost =
            offersHTTP2 && wire.isShareable
            ? request.origin.map { Destination($0, at: wire.route?.target) } : nil
        life = TransferStateMachine()
        self.request = wire
        self.upload = upload
        url = request.url
        isHead = request.method == .head
    }

    deinit { if case .unread(let bytes) = head { bytes.free() } }

    // MARK: From any thread

    var destination: Destination? {
        Origin(url).map { Destination($0, at: request.route?.target) }
    }

    // Sets the exchange. Exchange and transfer retain each other until ``leave()``.
    func feed(_ exchange: Exchange) { self.exchange = exchange }

    /// Takes the times of the phases, after the head or after a failure.
    func takeTimes() -> CurlTimes? { keptTimes.withLock { $0.take() } }

    // Adds orders. Returns true if the transfer had no orders and must be posted.
    func add(_ orders: Orders) -> Bool {
        let before = pending.bitwiseOr(orders.rawValue, ordering: .acquiringAndReleasing).oldValue
        return orders.contains(.start) || before == 0
    }

    func takeOrders() -> Orders {
        Orders(rawValue: pending.exchange(0, ordering: .acquiringAndReleasing))
    }
}

// MARK: Under the engine's lock

extension CurlTransfer {
    typealias Actions = TransferStateMachine.Actions

    var hasContentReady: Bool { upload?.isOpen ?? true }

    var awaitsPeer: Bool { handle.map { !$0.isReceivePaused && !$0.isSendPaused } ?? false }

    /// Whether the connection may carry many requests, or nil without a connection.
    var carriesMany: Bool? { handle.flatMap { $0.sends > 0 ? $0.carriesMany : nil } }

    var version: TransferStateMachine.Version? { life.version }

    /// Offers only one version, and shares connections to the destination unless `shared` is nil.
    func need(_ version: TransferStateMachine.Version, of shared: Destination?) {
        life.version = version
        if request.isShareable { sharedHost = shared }
    }

    // Handles an event, and performs the actions for only this transfer. Returns all actions.
    func advance(_ event: TransferStateMachine.Event, failing error: (any Error)? = nil) -> Actions
    {
        let actions = life.handle(event)
        if actions.contains(.fail), let error { exchange?.fail(error) }
        guard let handle else { return actions }
        if actions.contains(.pause) { handle.setReceivePaused(true) }
        if actions.contains(.resume) { handle.setReceivePaused(false) }
        if actions.contains(.resumeUpload) { handle.resumeSending() }
        if actions.contains(.tryNextAddress) { handle.nudge() }
        return actions
    }

    func begin(_ handle: CurlHandle) -> Actions {
        guard let exchange, !exchange.hasEnded else { return advance(.cancelled) }
        if let fault = upload?.fault { return advance(.failed, failing: fault) }
        let code = handle.begin(self)
        guard code == 0 else {
            let error = CurlFault.of(code, text: handle.faultText(code), handle: handle, self)
            handle.end()
            return advance(.failed, failing: error)
        }
        self.handle = handle
        return advance(.handleGiven)
    }

    /// Checks whether the request was sent, because libcurl does not report the send.
    func noteConnection() -> Actions {
        guard case .connecting = life.state, let handle, handle.sends > 0 else { return [] }
        return advance(.requestSent)
    }

    func failLate() -> Actions {
        if let handle { keep(handle.times) }
        return advance(
            .connectTimedOut,
            failing: CurlFault.noConnection(
                to: request.route?.target, hadPlace: handle?.hadPlace ?? (sharedHost != nil)))
    }

    // Releases the handle. Returns the handle, and whether the handle can be reused. libcurl counts
    // the dead connections of a handle, and fails after several. libcurl also stores that a handle
    // has sent trailers. In libcurl 8.18, a handle that was paused never connects again.
    func releaseHandle() -> (handle: CurlHandle, isReusable: Bool)? {
        guard let handle else { return nil }
        let isPaused = handle.isSendPaused || handle.isReceivePaused
        let isReusable = handle.hasHead && handle.sends == 1 && !request.hasTrailers && !isPaused
        self.handle = nil
        handle.end()
        return (handle, isReusable)
    }

    /// Ends the transfer with an error before the transfer is in the engine's table.
    func refuse(_ error: any Error) {
        _ = advance(.failed, failing: error)
        leave()
    }

    // Releases the caller and the request's content. Every end of a transfer calls this method.
    func leave() {
        upload?.close()
        exchange = nil
    }

    // Reports the bytes that libcurl has collected, and returns all actions. If `fallsBack` is
    // true, HTTP/2 is used after a server refuses HTTP/1.1.
    func report(fallsBack: Bool) -> Actions {
        guard let handle, let exchange else { return [] }
        // There may be several events. `pass` performs the actions for the exchange.
        var actions = noteConnection()
        let count = handle.bodyCount
        let chunk = handle.takeBody()
        if case .sending = life.state, handle.hasHead {
            actions.formUnion(life.handle(.headCame(takeHead(handle))))
        }
        actions.formUnion(life.handle(.bytesCame(count, rest: requestRest(handle))))
        if let result = handle.result {
            // An abandoned transfer is not sent again.
            let isOver = result != 0 && exchange.hasEnded
            actions.formUnion(
                life.handle(isOver ? .cancelled : outcome(result, handle, fallsBack)))
        }
        if actions.contains(.restart) {
            needsConnection = handle.isRefused && (handle.sends == 0 || life.repeats > 1)
            upload?.reopen()
            releaseHandle()?.handle.free()
            return actions
        }
        let goesOn = pass(chunk, actions, handle, to: exchange)
        if actions.contains(.leave) { return actions }
        if exchange.hasEnded { return actions.union(advance(.cancelled)) }
        // Without received bytes, the demand of the reader is unknown.
        if count == 0, !actions.contains(.open) { return actions }
        if handle.isReceivePaused { actions.formUnion(life.handle(.bufferFilled)) }
        return actions.union(advance(goesOn ? .readerWantsMore : .readerHolds))
    }

    // Performs the actions for the exchange, and wakes the reader once. Returns whether the reader
    // needs more bytes.
    private func pass(
        _ chunk: BodyChunk, _ actions: Actions, _ handle: CurlHandle, to exchange: Exchange
    ) -> Bool {
        if !actions.isDisjoint(with: [.open, .fail]) { keep(handle.times) }
        if let alternative, actions.contains(.open), !handle.isHTTP3, !handle.times.isReused {
            alternative.noteFailure()
        }
        var fault = actions.contains(.fail) ? fault(handle) : nil
        if actions.contains(.finish), handle.hasTrailers {
            fault = handle.passTrailers(to: exchange)
        }
        let isComplete = actions.contains(.finish) && fault == nil
        var goesOn = true
        if actions.contains(.open) {
            goesOn = exchange.receive(self, with: chunk, isComplete: isComplete)
        } else {
            if actions.contains(.deliver) { goesOn = exchange.receive(chunk) }
            if isComplete { exchange.finish() }
        }
        if let fault {
            alternative?.noteFailure(fault)
            exchange.fail(fault)
        }
        return goesOn
    }

    // MARK: Reports of libcurl

    private func takeHead(_ handle: CurlHandle) -> TransferStateMachine.ContentEnd {
        let bytes = handle.takeHead()
        // The head is parsed here only if the end of the content depends on the head.
        let mayEndWithConnection = request.isSecure && bytes.isHTTP1
        guard mayEndWithConnection || request.asksForConsent else {
            head = .unread(bytes)
            return .success
        }
        let opening = bytes.read(url, isHead)
        head = .read(opening)
        guard case .success(let opening) = opening else { return .success }
        if mayEndWithConnection, opening.endsWithConnection { return .announcedEnd }
        guard request.asksForConsent, let length = opening.length else { return .success }
        return .bytes(length)
    }

    private func requestRest(_ handle: CurlHandle) -> TransferStateMachine.RequestRest {
        guard let upload, handle.result == nil else { return .wanted }
        return handle.isUnwanted ? .unwanted : upload.bytesSent == 0 ? .untouched : .wanted
    }

    private func outcome(
        _ result: Int32, _ handle: CurlHandle, _ fallsBack: Bool
    ) -> TransferStateMachine.Event {
        if result == 0 || handle.isWhole(result) { return .handleSucceeded(wasCut: handle.wasCut) }
        let cause: TransferStateMachine.Cause =
            if fallsBack, version == nil, handle.wasOfferedNoVersion {
                .needs(.http2)
            } else if handle.needsHTTP1 {
                .needs(.http1)
            } else if handle.isRefused {
                .refused
            } else {
                handle.skipsContent ? .droppedContent : .other
            }
        return .handleFailed(.init(cause: cause, canReopen: upload?.canReopen ?? true))
    }

    private func fault(_ handle: CurlHandle) -> any Error {
        let code = handle.result ?? 0
        if code == 0 {
            return handle.hasHead ? CurlFault.wasCut : CurlFault.wasCutInHead(state(handle))
        }
        if handle.skipsContent, request.asksForConsent { return CurlFault.wasSkipped }
        if let fault = upload?.fault { return fault }
        return CurlFault.of(code, text: handle.faultText(code), handle: handle, self)
    }

    func state(_ handle: CurlHandle) -> TransferState {
        let isUnsent = handle.sends == 0 || handle.isRefused
        let phase: TransferState.Phase =
            handle.hasHead ? .receiving : isUnsent ? .connecting : .sending
        return TransferState(
            phase, bodyBytesSent: phase == .connecting ? 0 : upload?.bytesSent ?? 0,
            lostReusedConnection: handle.isLost)
    }

    private func keep(_ times: CurlTimes) { keptTimes.withLock { $0 = times } }
}

extension CurlTransfer: LazyResponseHead {
    func read() throws -> Exchange.Head {
        switch head.take() {
        case .unread(let bytes): return try bytes.read(url, isHead).get()
        case .read(let opening): return try opening.get()
        case nil: throw CurlFault.wasCut
        }
    }
}
