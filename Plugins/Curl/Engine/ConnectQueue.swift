// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// Lets the transfers to a host that may speak HTTP/2 connect one after another.
///
/// If all transfers began at once, each would open its own connection, because no connection is yet
/// known to carry them all. libcurl 7.88 opens a hundred for two hundred requests. So the transfers
/// to a host begin one after another, each when the one before it has a connection. When a transfer
/// ends, one more begins in its place. If the host speaks HTTP/1, it needs no queue.
struct ConnectQueue {
    /// Where a transfer is in the queue.
    enum Position: Equatable {
        /// The transfer has not entered the queue.
        case unasked
        /// The transfer waits with this number in its queue.
        case waiting(Int)
        /// It has begun. Others wait until it has a connection.
        case connecting
        /// The transfer needs no place, and no other one waits for it.
        case none

        var isWaiting: Bool {
            if case .waiting = self { true } else { false }
        }
    }

    private final class Host {
        // The waiting transfers by their numbers: `first` is the lowest, `end` the next.
        private var waiting: [Int: CurlTransfer] = [:]
        private var first = 0
        private var end = 0
        /// The number of transfers that have begun and have no connection yet.
        private var connecting = 0
        /// The number of transfers that wait, or have begun and not ended.
        var count = 0
        private var speaksHTTP1 = false

        func add(_ transfer: CurlTransfer) {
            count += 1
            if speaksHTTP1 {
                transfer.position = .none
            } else if connecting == 0 {
                take(transfer)
            } else {
                transfer.position = .waiting(end)
                waiting[end] = transfer
                end += 1
            }
        }

        func connected(_ transfer: CurlTransfer, isHTTP2: Bool) -> [CurlTransfer] {
            transfer.position = .none
            connecting -= 1
            speaksHTTP1 = !isHTTP2
            guard speaksHTTP1 else { return takeNext(upTo: 1) }
            var others: [CurlTransfer] = []
            while let other = next() {
                other.position = .none
                others.append(other)
            }
            return others
        }

        func remove(_ transfer: CurlTransfer) -> [CurlTransfer] {
            count -= 1
            switch transfer.position {
            case .waiting(let number):
                waiting[number] = nil
                return []
            case .connecting:
                connecting -= 1
                return takeNext(upTo: 1)
            case .unasked, .none: return takeNext(upTo: 2)
            }
        }

        private func takeNext(upTo limit: Int) -> [CurlTransfer] {
            guard connecting < limit, let other = next() else { return [] }
            take(other)
            return [other]
        }

        private func take(_ transfer: CurlTransfer) {
            transfer.position = .connecting
            connecting += 1
        }

        private func next() -> CurlTransfer? {
            while first < end {
                defer { first += 1 }
                if let other = waiting.removeValue(forKey: first) { return other }
            }
            return nil
        }
    }

    private var hosts: [Destination: Host] = [:]

    /// Adds a transfer that is ready to begin; it may have to wait.
    mutating func add(_ transfer: CurlTransfer) {
        guard let place = transfer.sharedHost else { return transfer.position = .none }
        let host = hosts[place] ?? Host()
        hosts[place] = host
        host.add(transfer)
    }

    /// Notes that a transfer for which others wait has a connection now.
    /// - Returns: The transfers that begin now.
    func connected(_ transfer: CurlTransfer, isHTTP2: Bool) -> [CurlTransfer] {
        guard let place = transfer.sharedHost, let host = hosts[place] else { return [] }
        return host.connected(transfer, isHTTP2: isHTTP2)
    }

    /// Notes that a transfer has ended, stopped waiting, or has to begin again.
    /// - Returns: The transfers that begin now.
    mutating func remove(_ transfer: CurlTransfer) -> [CurlTransfer] {
        defer { transfer.position = .unasked }
        guard transfer.position != .unasked, let place = transfer.sharedHost,
            let host = hosts[place]
        else { return [] }
        defer { if host.count == 0 { hosts[place] = nil } }
        return host.remove(transfer)
    }
}
