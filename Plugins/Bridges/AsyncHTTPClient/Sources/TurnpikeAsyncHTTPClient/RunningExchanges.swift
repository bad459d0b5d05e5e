// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The exchanges of a transport that have not ended.
final class RunningExchanges: Sendable {
    private enum State {
        case open([ObjectIdentifier: HTTPExchange])
        case closed
    }

    private let state = Mutex(State.open([:]))

    /// Adds an exchange.
    /// - Returns: False if the transport was shut down.
    func add(_ exchange: HTTPExchange) -> Bool {
        state.withLock { state in
            guard case .open(var exchanges) = state else { return false }
            state = .closed  // Avoids a copy of the dictionary.
            exchanges[ObjectIdentifier(exchange)] = exchange
            state = .open(exchanges)
            return true
        }
    }

    func remove(_ exchange: HTTPExchange) {
        state.withLock { state in
            guard case .open(var exchanges) = state else { return }
            state = .closed  // Avoids a copy of the dictionary.
            exchanges[ObjectIdentifier(exchange)] = nil
            state = .open(exchanges)
        }
    }

    /// Prevents further exchanges from starting.
    /// - Returns: The exchanges that have not ended.
    func close() -> [HTTPExchange] {
        state.withLock { state in
            guard case .open(let exchanges) = state else { return [] }
            state = .closed
            return Array(exchanges.values)
        }
    }
}
