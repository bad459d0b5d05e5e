import Synchronization

/// The exchanges that calls share, and who waits for each.
///
/// The first to ask for a key starts an exchange in a context that outlives its call; others take a
/// seat until it lands. Who leaves, leaves it to the others; the last one ends it.
package final class Flights<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    /// What a shared exchange gives to one of those who wait.
    package enum Landing: Sendable {
        /// The same for all.
        case shared(Value)
        /// The response itself, which cannot be shared.
        case own(Response)
        /// Nothing: the call is to be sent by itself.
        case alone
    }

    /// A place in a shared exchange.
    package struct Seat: Sendable {
        fileprivate let key: Key
        fileprivate let flight: UInt64
        fileprivate let number: UInt64
        fileprivate let landing: OneShot<Landing>
        /// Whether its owner has to start the exchange.
        package let isFirst: Bool
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

    package init() {}

    /// How many wait, for all exchanges.
    package var seatCount: Int {
        state.withLock { $0.flights.values.reduce(0) { $0 + $1.seats.count } }
    }

    /// Takes a seat in the exchange for a key.
    /// - Parameters:
    ///   - key: What makes exchanges the same.
    ///   - context: Makes the context of the exchange, where there is none yet.
    /// - Returns: The seat.
    package func join(_ key: Key, context: @autoclosure () -> Context) -> Seat {
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

    /// The context of a seat's exchange, while it is under way.
    package func context(of seat: Seat) -> Context? { flight(of: seat)?.context }

    /// How many wait for the exchange of a seat.
    package func waiting(_ seat: Seat) -> Int { flight(of: seat)?.seats.count ?? 0 }

    /// Runs the exchange of a seat.
    package func start(_ seat: Seat, _ run: @escaping @Sendable (Context) async -> Void) {
        guard let context = context(of: seat) else { return }
        // It ends by itself, or is cancelled when the last one who waits has left.
        let task = Task.inheriting { await run(context) }
        let isOver = state.withLock { state in
            guard state.flights[seat.key]?.id == seat.flight else { return true }
            state.flights[seat.key]?.task = task
            return false
        }
        // It has landed, or the last one has left meanwhile.
        if isOver { task.cancel() }
    }

    /// Waits in a seat, until the exchange has landed or the call of a context is cancelled.
    package func landing(_ seat: Seat, in context: Context) async throws -> Landing {
        let registration = context.onCancel { [self] in leave(seat, $0.error) }
        defer { registration.end() }
        do {
            return try await seat.landing.value { [self] in leave(seat, CancellationError()) }
        } catch let end as CallEnd {
            context.call.record.fail()
            throw end.error
        }
    }

    /// Leaves a seat; the last one who leaves ends the exchange.
    package func leave(_ seat: Seat, _ error: any Error) {
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

    /// Ends the wait of all seats with the same result.
    package func land(_ seat: Seat, _ result: Result<Value, any Error>) {
        let hasFailed = context(of: seat)?.call.record.hasFailed == true
        let landing = result.map { Landing.shared($0) }.mapError { error -> any Error in
            hasFailed ? CallEnd(error: error) : error
        }
        for waiting in close(seat) { waiting.settle(landing) }
    }

    /// Hands the response to the seat that has waited longest; the others send their own requests.
    package func handOver(_ seat: Seat, _ response: Response) {
        let landings = close(seat)
        guard let first = landings.first else { return response.body.cancel(.drop) }
        first.settle(.success(.own(response)))
        for landing in landings.dropFirst() { landing.settle(.success(.alone)) }
    }

    /// Hands a result that nobody else may have to the seat that began the exchange; the others get none.
    package func giveBack(_ seat: Seat, _ result: Result<Response, any Error>) {
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

    // The flight is no more, so that nobody joins it; those who wait, in order.
    private func close(_ seat: Seat) -> [OneShot<Landing>] {
        let seats = state.withLock { state -> [UInt64: OneShot<Landing>] in
            guard let flight = state.flights[seat.key], flight.id == seat.flight else { return [:] }
            state.flights[seat.key] = nil
            return flight.seats
        }
        return seats.sorted { $0.key < $1.key }.map(\.value)
    }
}

/// That a retrier has ended the call which made an exchange: it holds for all who wait for that.
private struct CallEnd: Error {
    let error: any Error
}

extension Response {
    /// The response of an exchange in another context, as that of a call: its body ends with the
    /// call too.
    package func adopted(by context: Context) -> Response {
        var response = self
        response.record = context.call.record
        let canceller = body.canceller
        let registration = context.onCancel { canceller.cancel($0) }
        body.onEnd { _ in registration.end() }
        return response
    }
}
