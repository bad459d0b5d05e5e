// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// The transfers and the idle handles of an engine, used under the engine's lock.
///
/// The table performs the actions of a ``TransferStateMachine`` that affect the queue
/// (``ConnectQueue``), the handles, and the list of running transfers.
struct TransferTable {
    private let loop: CurlLoop
    private let options: CurlOptions
    private let connectTimeout: Int64
    private let maxIdle: Int
    private var running: [CurlTransfer] = []
    private var idle: [CurlHandle] = []
    private var queue: ConnectQueue
    // The transfers that may begin now.
    private var ready: [CurlTransfer] = []
    /// The time of the loop's clock at which a wait for a connection may be too long.
    private(set) var due = Int64.max
    private var http2Places: Set<Destination> = []
    private static let maxPlaces = 1000

    init(loop: CurlLoop, options: CurlOptions) {
        self.loop = loop
        self.options = options
        connectTimeout = Int64(options.connectTimeout)
        queue = ConnectQueue(limit: options.configuration.maxConnectionsPerHost)
        maxIdle = options.library.isHandleReuseSound ? CurlHandles.maxIdle : 0
    }

    /// Creates a first handle, which makes libcurl check the options.
    mutating func prepare() throws { idle.append(try loop.makeHandle(options)) }

    var count: Int { running.count }
    var isEmpty: Bool { running.isEmpty }

    /// Whether this is the only transfer, and waits only for the peer.
    func isAlone(_ transfer: CurlTransfer) -> Bool { running.count == 1 && transfer.awaitsPeer }

    mutating func obey(_ transfer: CurlTransfer) {
        let orders = transfer.takeOrders()
        if orders.contains(.start) { add(transfer) }
        if orders.contains(.cancel) { return advance(transfer, .cancelled) }
        if orders.contains(.receive) { advance(transfer, .readerWantsMore) }
        if !orders.isDisjoint(with: [.start, .send]) { offerContent(of: transfer) }
    }

    // Reports received bytes. Returns whether bytes remain or another transfer has begun.
    mutating func passOn(upTo limit: Int) -> Bool {
        for _ in 0..<limit {
            guard let handle = loop.nextReady() else { return admitReady() }
            guard let transfer = handle.transfer else { continue }
            carryOut(transfer.report(fallsBack: options.fallsBackToHTTP2), of: transfer)
        }
        return true
    }

    /// Tries the next address of each name if an address was refused.
    mutating func tryNextAddresses() {
        guard loop.takeRefusal() else { return }
        for transfer in running {
            carryOut(transfer.noteConnection(), of: transfer)
            advance(transfer, .addressRefused)
        }
    }

    // Fails the transfers that have waited too long for a connection, or for permission within the
    // limits. libcurl has no time limit for this permission.
    mutating func failLate() {
        let now = CurlLoop.now
        guard due <= now else { return }
        due = .max
        for transfer in running where transfer.life.isConnecting {
            carryOut(transfer.noteConnection(), of: transfer)
            guard transfer.life.isConnecting else { continue }
            if transfer.connectDue <= now {
                carryOut(transfer.failLate(), of: transfer)
            } else {
                due = min(due, max(transfer.connectDue, now + Self.lateness))
            }
        }
    }

    // The time in milliseconds. The pause prevents a search through a long list for each transfer.
    private static let lateness: Int64 = 10

    mutating func close(_ error: ClientError) {
        for transfer in running.reversed() { advance(transfer, .failed, failing: error) }
        ready = []
        for handle in idle { handle.free() }
        idle = []
        loop.close()
    }

    // MARK: Events and actions

    private mutating func add(_ transfer: CurlTransfer) {
        if !http2Places.isEmpty, let place = transfer.destination, http2Places.contains(place) {
            transfer.need(.http2, of: place)
        }
        transfer.place = running.count
        running.append(transfer)
        advance(transfer, .started)
    }

    // A transfer joins the queue only with ready content, because other transfers would wait.
    private mutating func offerContent(of transfer: CurlTransfer) {
        if transfer.hasContentReady { advance(transfer, .contentReady) }
    }

    private mutating func advance(
        _ transfer: CurlTransfer, _ event: TransferStateMachine.Event,
        failing error: (any Error)? = nil
    ) {
        carryOut(transfer.advance(event, failing: error), of: transfer)
    }

    private mutating func carryOut(
        _ actions: TransferStateMachine.Actions, of transfer: CurlTransfer
    ) {
        if actions.contains(.admitNext) { admitNext(of: transfer) }
        if actions.contains(.restart) {
            // After a GOAWAY, many transfers of a connection begin again at once.
            ready += queue.remove(transfer)
            if actions.contains(.useVersion) { useVersion(of: transfer) }
            offerContent(of: transfer)
        }
        if actions.contains(.enqueue) { enqueue(transfer) }
        if actions.contains(.begin) { giveHandle(to: transfer) }
        if actions.contains(.release), let (handle, isReusable) = transfer.releaseHandle() {
            if isReusable, idle.count < maxIdle {
                idle.append(handle)
            } else {
                handle.free()
            }
        }
        if actions.contains(.leave) { remove(transfer) }
    }

    private mutating func admitNext(of transfer: CurlTransfer) {
        guard transfer.position == .connecting, let carriesMany = transfer.carriesMany
        else { return }
        ready += queue.connected(transfer, isHTTP2: carriesMany)
    }

    private mutating func useVersion(of transfer: CurlTransfer) {
        // The server may require this version only for this request.
        guard transfer.version == .http2 else { return transfer.need(.http1, of: nil) }
        guard let place = transfer.destination else { return }
        if http2Places.count >= Self.maxPlaces { http2Places = [] }
        http2Places.insert(place)
        transfer.need(.http2, of: place)
    }

    private mutating func enqueue(_ transfer: CurlTransfer) {
        transfer.connectDue = CurlLoop.now + connectTimeout
        due = min(due, transfer.connectDue)
        queue.add(transfer, besides: running.count - 1)
        if !transfer.position.isWaiting { advance(transfer, .connectAllowed) }
    }

    // A transfer that cannot begin lets the next transfer begin.
    private mutating func admitReady() -> Bool {
        let hasAny = !ready.isEmpty
        while !ready.isEmpty {
            let transfers = ready
            ready = []
            for transfer in transfers { advance(transfer, .connectAllowed) }
        }
        return hasAny
    }

    private mutating func giveHandle(to transfer: CurlTransfer) {
        do {
            if idle.isEmpty { idle.append(try loop.makeHandle(options)) }
            let handle = idle[idle.count - 1]
            if let trust = transfer.trust { try options.apply(trust, to: handle) }
            let actions = transfer.begin(handle)
            if !actions.contains(.leave) { idle.removeLast() }
            carryOut(actions, of: transfer)
        } catch {
            advance(transfer, .failed, failing: error)
        }
    }

    private mutating func remove(_ transfer: CurlTransfer) {
        transfer.leave()
        let last = running.removeLast()
        if last !== transfer {
            running[transfer.place] = last
            last.place = transfer.place
        }
        ready += queue.remove(transfer)
    }
}
