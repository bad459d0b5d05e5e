// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

/// Exchanges that several calls share.
///
/// The first call with a key starts the exchange in a context that outlives the call. Further calls
/// with the key wait for this exchange. If one call stops waiting, the other calls still wait. When
/// the last call stops waiting, the exchange is cancelled.
final class Flights<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// The result of a shared exchange for one of the waiting calls.
    enum Landing: Sendable {
        case shared(Value)
        /// The response with its body, which only one call can read.
        case own(Response)
        /// The call gets no response and must send its own request.
        case alone
    }

    /// A call's membership in a shared exchange.
    struct Seat: Sendable {
        fileprivate let key: Key
        fileprivate let flight: UInt64
        fileprivate let number: UInt64
        fileprivate let landing: OneShot<Landing>
        /// Whether this call must start the exchange.
        let isFirst: Bool
    }

    private struct Flight {
        let id: UInt64
        let context: Context
        var task: Task<Void, Never>?
        var seats: [UInt64: OneShot<Landing>]
    }

    private struct State {
        var flights: [Key: Flight] = [:]
        var count: UInt64 = 0
    }

    private let state = Mutex(State())

    init() {}

    var seatCount: Int {
        state.withLock { $0.flights.values.reduce(0) { $0 + $1.seats.count } }
    }

    /// Adds a call to the exchange for a key.
    /// - Parameters:
    ///   - key: Identifies equal exchanges.
    ///   - context: Creates the context of the exchange, if there is no exchange yet.
    /// - Returns: The call's seat in the exchange.
    func join(_ key: Key, context: @autoclosure () -> Context) -> Seat {
        state.withLock { state in
            state.count += 1
            let number = state.count
            let landing = OneShot<Landing>()
            let present = state.flights.index(forKey: key)
            if let present {
                state.flights.values[present].seats[number] = landing
            } else {
                state.flights[key] = Flight(
                    id: number, context: context(), seats: [number: landing])
            }
            return Seat(
                key: key, flight: present.map { state.flights.values[$0].id } ?? number,
                number: number, landing: landing, isFirst: present == nil)
        }
    }

    /// The context of a seat's exchange, or nil if the exchange is not running.
    func context(of seat: Seat) -> Context? { flight(of: seat)?.context }

    func waiting(_ seat: Seat) -> Int { flight(of: seat)?.seats.count ?? 0 }

    func start(_ seat: Seat, _ run: @escaping @Sendable (Context) async -> Void) {
        guard let context = context(of: seat) else { return }
        // The task ends with the exchange, or is cancelled when the last call stops waiting.
        let task = Task.inheriting { await run(context) }
        let isOver = state.withLock { state in
            guard state.flights[seat.key]?.id == seat.flight else { return true }
            state.flights[seat.key]?.task = task
            return false
        }
        if isOver { task.cancel() }
    }

    /// Waits until the exchange ends or the context is cancelled, and returns the result.
    func landing(_ seat: Seat, in context: Context) async throws -> Landing {
        let registration = context.onCancel { [self] in leave(seat, $0.error) }
        defer { registration.end() }
        func land() async throws -> Landing {
            try await seat.landing.value { [self] in leave(seat, CancellationError()) }
        }
        do {
            // The first call reports no wait, because the trace of the call contains the exchange.
            if seat.isFirst { return try await land() }
            return try await context.report(waitingFor: "another call's exchange") { _ in
                try await land()
            }
        } catch let end as CallEnd {
            context.forbidRetries()
            throw end.error
        }
    }

    /// Stops the wait of a call, and cancels the exchange if no other call waits.
    func leave(_ seat: Seat, _ error: any Error) {
        let (hasLeft, ended) = state.withLock { state -> (Bool, Flight?) in
            guard let index = state.flights.index(forKey: seat.key),
                state.flights.values[index].id == seat.flight,
                state.flights.values[index].seats.removeValue(forKey: seat.number) != nil
            else { return (false, nil) }
            guard state.flights.values[index].seats.isEmpty else { return (true, nil) }
            return (true, state.flights.remove(at: index).value)
        }
        if hasLeft { seat.landing.settle(.failure(error)) }
        ended?.context.cancel(.drop)
        ended?.task?.cancel()
    }

    /// Ends the wait of all calls with the same result.
    func land(_ seat: Seat, _ result: Result<Value, any Error>) {
        let isFinal = context(of: seat)?.retriesForbidden == true
        let landing = result.map { Landing.shared($0) }.mapError { error -> any Error in
            isFinal ? CallEnd(error: error) : error
        }
        for waiting in close(seat) { waiting.settle(landing) }
    }

    /// Returns the response to the longest-waiting call; other calls send their own requests.
    func handOver(_ seat: Seat, _ response: Response) {
        let landings = close(seat)
        guard let first = landings.first else { return response.body.cancel(.drop) }
        first.settle(.success(.own(response)))
        for landing in landings.dropFirst() { landing.settle(.success(.alone)) }
    }

    /// Returns a result to the first call only; the other waiting calls send their own requests.
    func giveBack(_ seat: Seat, _ result: Result<Response, any Error>) {
        var hasOwner = false
        for landing in close(seat) {
            let isOwner = landing === seat.landing
            landing.settle(isOwner ? result.map { .own($0) } : .success(.alone))
            hasOwner = hasOwner || isOwner
        }
        if !hasOwner, case .success(let response) = result { response.body.cancel(.drop) }
    }

    private func flight(of seat: Seat) -> Flight? {
        state.withLock { state in
            state.flights[seat.key].flatMap { $0.id == seat.flight ? $0 : nil }
        }
    }

    // Removes the exchange from the table, and returns the waiting calls in order.
    private func close(_ seat: Seat) -> [OneShot<Landing>] {
        let seats = state.withLock { state -> [UInt64: OneShot<Landing>] in
            guard let flight = state.flights[seat.key], flight.id == seat.flight else { return [:] }
            state.flights[seat.key] = nil
            return flight.seats
        }
        return seats.sorted { $0.key < $1.key }.map(\.value)
    }
}

/// The error of a ``/TurnpikeCore/RetryDecision/fail(_:)``, which fails all waiting calls.
private struct CallEnd: Error {
    let error: any Error
}
