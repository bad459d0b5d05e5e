import Foundation
import Synchronization
import TurnpikeCore

/// One exchange in an engine: joins libcurl's handle with the ``/TurnpikeCore/Exchange`` that the
/// caller waits for.
// SAFETY: `exchange` is set before the transfer is handed to an engine; that and `EngineState` are
// touched under the engine's lock alone from then on.
final class CurlTransfer: @unchecked Sendable {
    /// What an engine is asked to do for a transfer; several are one post.
    struct Orders: OptionSet {
        let rawValue: UInt8
        static let start = Orders(rawValue: 1)
        static let cancel = Orders(rawValue: 2)
        static let receive = Orders(rawValue: 4)
        static let send = Orders(rawValue: 8)
        // Until it starts nothing is posted: it may be cancelled before it has its exchange.
        fileprivate static let unstarted = Orders(rawValue: 128)
    }

    let request: CurlRequest
    let upload: CurlUpload?
    private let url: URL
    private let isHead: Bool
    private let pending = Atomic<UInt8>(Orders.unstarted.rawValue)

    private var exchange: Exchange?
    // Asked for by the caller, who may have been cancelled while an engine is still at work.
    private let keptTimes = Mutex<CurlTimes?>(nil)

    /// The place among the engine's transfers; -1 while it is in none.
    var place = -1
    /// What the files of the trust hold; set before the transfer is handed to an engine.
    var trust: TrustFiles.Content?
    /// When it was begun, by the loop's clock.
    var begun: Int64 = 0
    var turn = HostTurns.Turn.unasked
    private var handle: CurlHandle?
    private var hasOpened = false
    private var endsWithConnection = false
    private var repeats = 0
    /// Whether its server speaks no other version of HTTP.
    private(set) var needsHTTP2 = false
    /// The host, where one connection to it may carry many transfers at once; see ``HostTurns``.
    private(set) var sharedHost: Origin?
    // Whether the server has done nothing with all that was sent.
    private var isRefused = true
    // The content that is still to come, where libcurl may skip it or go on without need.
    private var left: Int64?
    // Set before the exchange hears of it, and then its reader's.
    private var head: Head?

    // `offersHTTP2`: to every server.
    init(
        _ request: Request, wire: consuming CurlRequest, upload: CurlUpload?, offersHTTP2: Bool
    ) {
        sharedHost = offersHTTP2 && wire.isShareable ? request.origin : nil
        self.request = wire
        self.upload = upload
        url = request.url
        isHead = request.method == .head
    }

    var origin: Origin? { Origin(url) }

    /// When things happened, once the head has come or the transfer has failed.
    func takeTimes() -> CurlTimes? { keptTimes.withLock { $0.take() } }

    private func keep(_ times: CurlTimes) { keptTimes.withLock { $0 = times } }

    func feed(_ exchange: Exchange) { self.exchange = exchange }

    /// Adds orders; true where there were none, and the engine must be told.
    func add(_ orders: Orders) -> Bool {
        let before = pending.bitwiseOr(orders.rawValue, ordering: .acquiringAndReleasing).oldValue
        return orders.contains(.start) || before == 0
    }

    func takeOrders() -> Orders {
        Orders(rawValue: pending.exchange(0, ordering: .acquiringAndReleasing))
    }

    deinit { if case .unread(let bytes) = head { bytes.free() } }

    // MARK: Under the engine's lock

    /// Whether it waits for its peer, and for nothing else.
    var awaitsPeer: Bool { handle.map { !$0.isReceivePaused && !$0.isSendPaused } ?? false }

    /// Begins, unless it was given up before.
    /// - Returns: Whether the handle is used now.
    func begin(_ handle: CurlHandle) -> Bool {
        guard let exchange, !exchange.hasEnded else {
            finish()
            return false
        }
        if let fault = upload?.fault {
            fail(fault)
            return false
        }
        let code = handle.begin(self)
        guard code == 0 else {
            exchange.fail(CurlFault.of(code, text: handle.faultText(code), handle: handle, self))
            handle.end()
            finish()
            return false
        }
        self.handle = handle
        return true
    }

    /// Lets go of the handle.
    /// - Returns: The handle, and whether it may serve again: libcurl does not forget how often a
    ///   handle has met a dead connection, and fails when it has met several; nor that it has sent
    ///   trailers; nor, in 8.18, that it was paused, and then never connects.
    func end() -> (handle: CurlHandle, isGood: Bool)? {
        guard let handle else {
            finish()
            return nil
        }
        let isPaused = handle.isSendPaused || handle.isReceivePaused
        let isGood = handle.hasHead && handle.sends == 1 && !request.hasTrailers && !isPaused
        self.handle = nil
        handle.end()
        finish()
        return (handle, isGood)
    }

    /// Lets go of a handle that failed, where the request may be sent again, and makes its content
    /// start again.
    /// - Parameter fallsBack: Whether a server that refuses HTTP/1.1 is asked by HTTP/2.
    /// - Returns: Whether to begin again with another handle, once it ``canBegin``.
    func restart(fallsBack: Bool) -> Bool {
        guard let handle, let exchange, !exchange.hasEnded, repeats < Self.maxRepeats else {
            return false
        }
        let wantsHTTP2 = fallsBack && !needsHTTP2 && handle.wasOfferedNoVersion
        guard wantsHTTP2 || maySendAgain(handle), upload?.reopen() ?? true else { return false }
        needsHTTP2 = needsHTTP2 || wantsHTTP2
        repeats += 1
        isRefused = isRefused && (handle.isRefused || handle.sends == 0)
        self.handle = nil
        handle.end()
        handle.free()
        return true
    }

    // libcurl may have wanted to send again what a caller's own code has to open first.
    private func maySendAgain(_ handle: CurlHandle) -> Bool {
        if handle.isRefused { return true }
        return request.isRepeatable
            && (handle.metDeadConnection
                || (handle.failedToRewind && upload?.isToBeReopened == true))
    }

    /// Notes that its server speaks HTTP/2 alone.
    func needHTTP2(of origin: Origin) {
        needsHTTP2 = true
        if request.isShareable { sharedHost = origin }
    }

    /// Whether it has no handle yet, and its content is there.
    var canBegin: Bool { handle == nil && place >= 0 && upload?.isOpen ?? true }

    /// The protocol that it goes by, once it has a connection; nil before.
    var isHTTP2: Bool? { handle.flatMap { $0.sends > 0 ? $0.isHTTP2 : nil } }

    // As often as libcurl itself.
    private static let maxRepeats = 5

    func fail(_ error: any Error) {
        exchange?.fail(error)
        if handle == nil { finish() }
    }

    /// Whether it has a connection yet to come, or its turn, or a place among the connections.
    var isConnecting: Bool { handle.map { $0.sends == 0 } ?? (turn != .unasked) }

    /// Has libcurl go on to the next address of the host's name, where it does not by itself.
    func tryNextAddress() {
        if let handle, handle.sends == 0 { handle.nudge() }
    }

    /// Fails for want of a connection.
    func failLate() {
        if let handle { keep(handle.times) }
        fail(CurlFault.noConnection(hadPlace: handle?.hadPlace ?? true))
    }

    private func finish() {
        upload?.close()
        exchange = nil
    }

    func resume(_ orders: Orders) {
        guard let handle else { return }
        if orders.contains(.send) { handle.resumeSending() }
        if orders.contains(.receive), handle.isReceivePaused { handle.setReceivePaused(false) }
    }

    /// Passes on what has come.
    /// - Returns: Whether the transfer is over.
    func flush() -> Bool {
        guard let handle, let exchange else { return true }
        let count = Int64(handle.bodyCount)
        let chunk = handle.takeBody()
        let result = handle.result
        let opens = handle.hasHead && !hasOpened
        if opens { takeHead(handle) }
        left = left.map { $0 - count }
        let isSkipped = left == 0 && (result == nil ? isWithoutConsent : handle.skipsContent)
        var isComplete = (result == 0 && hasOpened) || isSkipped
        if let result, handle.isWhole(result) { isComplete = true }
        if isComplete, endsWithConnection, handle.wasCut { isComplete = false }
        // A server may answer before it has all of the request (RFC 9113 §8.1). After a 2xx it may
        // still want the rest.
        if result == nil, upload != nil, handle.isUnwanted { isComplete = true }
        var trailerFault: (any Error)?
        if isComplete, handle.hasTrailers {
            trailerFault = handle.passTrailers(to: exchange)
            isComplete = trailerFault == nil
        }
        let goesOn: Bool
        if opens {
            goesOn = exchange.receive(self, with: chunk, isComplete: isComplete)
        } else {
            goesOn = exchange.receive(chunk)
            if isComplete { exchange.finish() }
        }
        if let result {
            if !hasOpened { keep(handle.times) }
            if !isComplete { exchange.fail(trailerFault ?? fault(result, handle)) }
            return true
        }
        if isComplete || exchange.hasEnded { return true }
        if handle.isReceivePaused == goesOn { handle.setReceivePaused(!goesOn) }
        return false
    }

    // The answer came instead of the consent, so the content is not wanted. libcurl 8.14 ends there;
    // 8.18 waits for what is left of the second, then sends it all.
    private var isWithoutConsent: Bool { upload.map { $0.bytesSent == 0 } ?? false }

    private func takeHead(_ handle: CurlHandle) {
        hasOpened = true
        keep(handle.times)
        let bytes = handle.takeHead()
        // Read here only where the end of the content depends on it.
        let mayEndWithConnection = request.isSecure && bytes.isHTTP1
        guard mayEndWithConnection || request.asksForConsent else {
            head = .unread(bytes)
            return
        }
        let opening = bytes.read(url, isHead)
        head = .read(opening)
        guard case .success(let opening) = opening else { return }
        endsWithConnection = mayEndWithConnection && opening.endsWithConnection
        left = request.asksForConsent ? opening.length : nil
    }

    private func fault(_ code: Int32, _ handle: CurlHandle) -> any Error {
        if code == 0 { return hasOpened ? CurlFault.wasCut : CurlFault.wasCutInHead(state(handle)) }
        if handle.skipsContent, request.asksForConsent { return CurlFault.wasSkipped }
        if let fault = upload?.fault { return fault }
        return CurlFault.of(code, text: handle.faultText(code), handle: handle, self)
    }

    /// How far the exchange has come, for an error.
    func state(_ handle: CurlHandle) -> TransferState {
        let isUnsent = isRefused && (handle.sends == 0 || handle.isRefused)
        let phase: TransferState.Phase =
            handle.hasHead ? .receiving : isUnsent ? .connecting : .sending
        return TransferState(
            phase, bodyBytesSent: phase == .connecting ? 0 : upload?.bytesSent ?? 0)
    }
}

extension CurlTransfer: UnreadHead {
    func read() throws -> Exchange.Head {
        switch head.take() {
        case .unread(let bytes): return try bytes.read(url, isHead).get()
        case .read(let opening): return try opening.get()
        case nil: throw CurlFault.wasCut
        }
    }
}

extension CurlTransfer {
    private enum Head {
        case unread(HeadBytes)
        case read(Result<Exchange.Head, ClientError>)
    }
}
