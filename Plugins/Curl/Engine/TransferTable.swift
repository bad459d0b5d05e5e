import TurnpikeCore

/// The transfers of an engine, and the handles that wait for one; under the engine's lock.
struct TransferTable {
    private let loop: CurlLoop
    private let options: CurlOptions
    private let connectTimeout: Int64
    private var running: [CurlTransfer] = []
    private var idle: [CurlHandle] = []
    private var turns = HostTurns()
    // Those whose turn has come.
    private var ready: [CurlTransfer] = []
    /// When a transfer may have waited too long for its connection, by the loop's clock.
    private(set) var due = Int64.max
    /// Servers that have refused HTTP/1.1.
    private var http2Origins: Set<Origin> = []
    private static let maxOrigins = 1000

    init(loop: CurlLoop, options: CurlOptions) {
        self.loop = loop
        self.options = options
        connectTimeout = Int64(options.connectTimeout)
    }

    /// Makes a first handle, for libcurl to judge the options by.
    mutating func prepare() throws { idle.append(try loop.makeHandle(options)) }

    var count: Int { running.count }
    var isEmpty: Bool { running.isEmpty }

    /// Whether a transfer is the only one, and waits for its peer.
    func isAlone(_ transfer: CurlTransfer) -> Bool { running.count == 1 && transfer.awaitsPeer }

    /// Does what a transfer was posted for.
    mutating func obey(_ transfer: CurlTransfer) {
        let orders = transfer.takeOrders()
        if orders.contains(.start) { begin(transfer) }
        if orders.contains(.cancel) {
            end(transfer)
        } else {
            beginIfReady(transfer)
            transfer.resume(orders)
        }
    }

    /// Passes on what has come.
    /// - Returns: Whether something is left of it, or has begun by it.
    mutating func passOn(upTo limit: Int) -> Bool {
        for _ in 0..<limit {
            guard let handle = loop.nextReady() else { return beginReady() }
            guard let transfer = handle.transfer else { continue }
            if transfer.turn == .taken, let isHTTP2 = transfer.isHTTP2 {
                ready += turns.connected(transfer, isHTTP2: isHTTP2)
            }
            if transfer.restart(fallsBack: options.fallsBackToHTTP2) {
                // Many begin again at once where their connection lets them go (GOAWAY).
                ready += turns.remove(transfer)
                remember(transfer)
                beginIfReady(transfer)
            } else if transfer.flush() {
                end(transfer)
            }
        }
        return true
    }

    /// Goes on to the next address of a name where one was refused.
    func tryNextAddresses() {
        guard loop.takeRefusal() else { return }
        for transfer in running { transfer.tryNextAddress() }
    }

    /// Fails the transfers that have waited too long for a connection, or for a place among them:
    /// libcurl does not time the latter.
    mutating func failLate() {
        let now = CurlLoop.now
        guard due <= now else { return }
        due = .max
        for transfer in running where transfer.isConnecting {
            let limit = transfer.begun + connectTimeout
            if limit <= now {
                transfer.failLate()
                end(transfer)
            } else {
                due = min(due, max(limit, now + Self.lateness))
            }
        }
    }

    // In milliseconds: a list of many that wait is not gone through for each.
    private static let lateness: Int64 = 10

    /// Fails what is under way, frees the handles, and closes all connections.
    mutating func close(_ error: ClientError) {
        for transfer in running.reversed() {
            transfer.fail(error)
            end(transfer)
        }
        ready = []
        for handle in idle { handle.free() }
        idle = []
        loop.close()
    }

    private mutating func remember(_ transfer: CurlTransfer) {
        guard transfer.needsHTTP2, let origin = transfer.origin else { return }
        if http2Origins.count >= Self.maxOrigins { http2Origins = [] }
        http2Origins.insert(origin)
        transfer.needHTTP2(of: origin)
    }

    private mutating func begin(_ transfer: CurlTransfer) {
        if !http2Origins.isEmpty, let origin = transfer.origin, http2Origins.contains(origin) {
            transfer.needHTTP2(of: origin)
        }
        transfer.place = running.count
        running.append(transfer)
        beginIfReady(transfer)
    }

    private mutating func limitConnecting(_ transfer: CurlTransfer) {
        transfer.begun = CurlLoop.now
        due = min(due, transfer.begun + connectTimeout)
    }

    // What cannot begin lets another one begin, and so on.
    private mutating func beginReady() -> Bool {
        let hasAny = !ready.isEmpty
        while !ready.isEmpty {
            let transfers = ready
            ready = []
            for transfer in transfers { beginIfReady(transfer) }
        }
        return hasAny
    }

    // What is not ready takes no turn, for others would wait for its content.
    private mutating func beginIfReady(_ transfer: CurlTransfer) {
        guard transfer.canBegin else { return }
        if transfer.turn == .unasked {
            turns.add(transfer)
            limitConnecting(transfer)
        }
        if !transfer.turn.isAwaited, !takeHandle(for: transfer) { remove(transfer) }
    }

    private mutating func takeHandle(for transfer: CurlTransfer) -> Bool {
        do {
            let handle = try idle.popLast() ?? loop.makeHandle(options)
            idle.append(handle)
            if let trust = transfer.trust { try options.apply(trust, to: handle) }
            if transfer.begin(handle) {
                idle.removeLast()
                return true
            }
        } catch {
            transfer.fail(error)
        }
        return false
    }

    private mutating func end(_ transfer: CurlTransfer) {
        let ended = transfer.end()
        if let (handle, isGood) = ended, isGood, idle.count < CurlHandles.maxIdle {
            idle.append(handle)
        } else {
            ended?.handle.free()
        }
        // It has no handle where it was to begin again.
        if transfer.place >= 0 { remove(transfer) }
    }

    private mutating func remove(_ transfer: CurlTransfer) {
        let place = transfer.place
        transfer.place = -1
        let last = running.removeLast()
        if last !== transfer {
            running[place] = last
            last.place = place
        }
        ready += turns.remove(transfer)
    }
}
