// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// Lets the transfers to a host that may support HTTP/2 connect one after another.
///
/// If all transfers began at once, each transfer would open its own connection, because no
/// connection has shown HTTP/2 yet. For example, libcurl 7.88 opens a hundred connections for two
/// hundred requests. Each transfer therefore begins when the previous transfer to the host has a
/// connection. When a transfer ends, one more transfer begins.
///
/// If more transfers run than an HTTP/1 host may have connections, the queue counts the further
/// transfers and enforces the limit. libcurl has the same limit, but tries to begin several
/// transfers when one ends (7.88 two or three, 8.14 all). A failed attempt costs a seventh of a
/// small call.
struct ConnectQueue {
    enum Position: Equatable {
        /// The transfer is not in the queue, or has begun and is not counted.
        case unasked
        /// The transfer waits in the queue, with this number.
        case waiting(Int)
        /// The transfer has begun. Other transfers wait until this transfer has a connection.
        case connecting
        /// The transfer needs no place, and no other transfer waits for this transfer.
        case none

        var isWaiting: Bool {
            if case .waiting = self { true } else { false }
        }
    }

    final class Host {
        // `first` is the lowest number of a waiting transfer, and `end` the next number.
        private var waiting: [Int: CurlTransfer] = [:]
        private var first = 0
        private var end = 0
        private var connecting = 0
        /// The number of waiting and running transfers.
        private(set) var count = 0
        fileprivate let place: Place
        private let limit: Int
        private var speaksHTTP1: Bool

        fileprivate init(_ place: Place, limit: Int) {
            self.place = place
            self.limit = limit
            speaksHTTP1 = !place.isShared
        }

        func add(_ transfer: CurlTransfer) {
            count += 1
            transfer.host = self
            if speaksHTTP1, count - waiting.count <= limit {
                transfer.position = .none
            } else if !speaksHTTP1, connecting == 0 {
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
            return speaksHTTP1 ? takeFree() : takeNext(upTo: 1)
        }

        func remove(_ transfer: CurlTransfer) -> [CurlTransfer] {
            count -= 1
            switch transfer.position {
            case .waiting(let number):
                waiting[number] = nil
                return []
            case .connecting:
                connecting -= 1
                return speaksHTTP1 ? takeFree() : takeNext(upTo: 1)
            case .unasked, .none: return speaksHTTP1 ? takeFree() : takeNext(upTo: 2)
            }
        }

        private func takeFree() -> [CurlTransfer] {
            var others: [CurlTransfer] = []
            while count - waiting.count < limit, let other = next() {
                other.position = .none
                others.append(other)
            }
            return others
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

    fileprivate struct Place: Hashable {
        let destination: Destination
        let isShared: Bool

        init?(of transfer: CurlTransfer) {
            guard let place = transfer.sharedHost ?? transfer.destination else { return nil }
            destination = place
            isShared = transfer.sharedHost != nil
        }
    }

    private let limit: Int
    private var hosts: [Place: Host] = [:]

    /// - Parameter limit: The maximum number of connections to a host, or 0 for any number.
    init(limit: Int = 0) { self.limit = limit > 0 ? limit : .max }

    /// Adds a transfer, which may have to wait.
    mutating func add(_ transfer: CurlTransfer, besides others: Int = 0) {
        guard transfer.sharedHost != nil || others >= limit, let place = Place(of: transfer)
        else { return }
        let host = hosts[place] ?? Host(place, limit: limit)
        hosts[place] = host
        host.add(transfer)
    }

    // Records the connection of a transfer for which other transfers wait. Returns the transfers
    // that begin now.
    func connected(_ transfer: CurlTransfer, isHTTP2: Bool) -> [CurlTransfer] {
        transfer.host?.connected(transfer, isHTTP2: isHTTP2) ?? []
    }

    // Records that a transfer has ended, stopped waiting, or must begin again. Returns the
    // transfers that begin now.
    mutating func remove(_ transfer: CurlTransfer) -> [CurlTransfer] {
        guard let host = transfer.host else { return [] }
        defer {
            transfer.position = .unasked
            transfer.host = nil
            if host.count == 0 { hosts[host.place] = nil }
        }
        return host.remove(transfer)
    }
}
