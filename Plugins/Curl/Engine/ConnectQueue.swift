// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// Lets the transfers to a host that may speak HTTP/2 connect one after another.
///
/// If all transfers began at once, each would open its own connection, because no connection is yet
/// known to carry them all. libcurl 7.88 opens a hundred for two hundred requests. So each transfer
/// begins when the previous transfer to the host has a connection. When a transfer ends, one more
/// begins. A host that speaks HTTP/1 needs no queue.
struct ConnectQueue {
    enum Position: Equatable {
        case unasked
        /// The transfer waits, with this number in its queue.
        case waiting(Int)
        /// The transfer has begun. Others wait until this transfer has a connection.
        case connecting
        /// The transfer needs no place, and no other transfer waits for it.
        case none

        var isWaiting: Bool {
            if case .waiting = self { true } else { false }
        }
    }

    private final class Host {
        // `first` is the lowest number of a waiting transfer, and `end` is the next number to give.
        private var waiting: [Int: CurlTransfer] = [:]
        private var first = 0
        private var end = 0
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

    /// Adds a transfer, which may have to wait.
    mutating func add(_ transfer: CurlTransfer) {
        guard let place = transfer.sharedHost else { return transfer.position = .none }
        let host = hosts[place] ?? Host()
        hosts[place] = host
        host.add(transfer)
    }

    // Notes that a transfer for which others wait has a connection now. Returns the transfers that
    // begin now.
    func connected(_ transfer: CurlTransfer, isHTTP2: Bool) -> [CurlTransfer] {
        guard let place = transfer.sharedHost, let host = hosts[place] else { return [] }
        return host.connected(transfer, isHTTP2: isHTTP2)
    }

    // Notes that a transfer has ended, stopped waiting, or has to begin again. Returns the
    // transfers that begin now.
    mutating func remove(_ transfer: CurlTransfer) -> [CurlTransfer] {
        defer { transfer.position = .unasked }
        guard transfer.position != .unasked, let place = transfer.sharedHost,
            let host = hosts[place]
        else { return [] }
        defer { if host.count == 0 { hosts[place] = nil } }
        return host.remove(transfer)
    }
}
