// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// The turns of transfers to hosts that may speak HTTP/2.
///
/// If transfers began at once, each would make a connection, before it is known that the first
/// connection can carry them all: libcurl 7.88 makes a hundred connections for two hundred
/// requests. So the transfers to a host begin one after another, each as soon as the one before it
/// is on a connection; and one more when another transfer has ended and left a free stream. A
/// host that turns out to speak HTTP/1 needs no turns.
///
/// A turn of the loop is something else: one pass of the thread or of a caller (``CurlEngine``).
struct HostTurns {
    /// The state of a transfer with regard to turns.
    enum Turn: Equatable {
        /// It did not request a turn.
        case unasked
        /// It waits for its turn, with this number in its line.
        case awaited(Int)
        /// It has begun, and others wait until it is on a connection.
        case taken
        /// It needs no turn, and no other transfer waits for it.
        case none

        var isAwaited: Bool {
            if case .awaited = self { true } else { false }
        }
    }

    private final class Host {
        // Those that wait, by their numbers, of which `first` is the lowest and `end` the next one.
        private var waiting: [Int: CurlTransfer] = [:]
        private var first = 0
        private var end = 0
        /// Those whose turn it is.
        private var taken = 0
        /// Those that have begun and not ended, and those that wait.
        var count = 0
        private var speaksHTTP1 = false

        func add(_ transfer: CurlTransfer) {
            count += 1
            if speaksHTTP1 {
                transfer.turn = .none
            } else if taken == 0 {
                take(transfer)
            } else {
                transfer.turn = .awaited(end)
                waiting[end] = transfer
                end += 1
            }
        }

        func connected(_ transfer: CurlTransfer, isHTTP2: Bool) -> [CurlTransfer] {
            transfer.turn = .none
            taken -= 1
            speaksHTTP1 = !isHTTP2
            guard speaksHTTP1 else { return takeNext(upTo: 1) }
            var others: [CurlTransfer] = []
            while let other = next() {
                other.turn = .none
                others.append(other)
            }
            return others
        }

        func remove(_ transfer: CurlTransfer) -> [CurlTransfer] {
            count -= 1
            switch transfer.turn {
            case .awaited(let number):
                waiting[number] = nil
                return []
            case .taken:
                taken -= 1
                return takeNext(upTo: 1)
            case .unasked, .none: return takeNext(upTo: 2)
            }
        }

        private func takeNext(upTo limit: Int) -> [CurlTransfer] {
            guard taken < limit, let other = next() else { return [] }
            take(other)
            return [other]
        }

        private func take(_ transfer: CurlTransfer) {
            transfer.turn = .taken
            taken += 1
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

    /// Adds a transfer that is ready to begin, and may have to wait for its turn.
    mutating func add(_ transfer: CurlTransfer) {
        guard let place = transfer.sharedHost else { return transfer.turn = .none }
        let host = hosts[place] ?? Host()
        hosts[place] = host
        host.add(transfer)
    }

    /// Notes that a transfer that has its turn has a connection now.
    /// - Returns: Those that are to begin now.
    func connected(_ transfer: CurlTransfer, isHTTP2: Bool) -> [CurlTransfer] {
        guard let place = transfer.sharedHost, let host = hosts[place] else { return [] }
        return host.connected(transfer, isHTTP2: isHTTP2)
    }

    /// Notes that a transfer has ended, waits no longer, or has to begin again.
    /// - Returns: Those that are to begin now.
    mutating func remove(_ transfer: CurlTransfer) -> [CurlTransfer] {
        defer { transfer.turn = .unasked }
        guard transfer.turn != .unasked, let place = transfer.sharedHost,
            let host = hosts[place]
        else { return [] }
        defer { if host.count == 0 { hosts[place] = nil } }
        return host.remove(transfer)
    }
}
