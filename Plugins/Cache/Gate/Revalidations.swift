import Foundation
import Synchronization
import TurnpikeCore

/// What callers must have in common to wait for one validation.
struct RevalidationKey: Hashable {
    let key: CacheKey
    let variant: Variant
    // Calls with gates of their own are like no others.
    let plan: ObjectIdentifier

    init(_ response: StoredResponse, _ next: Next) {
        key = response.key
        variant = response.variant
        plan = next.planIdentity
    }
}

/// The validations under way, and who waits for each.
final class Revalidations: Sendable {
    /// What a validation gives to one of those who wait.
    enum Landing: Sendable {
        case validated(Validation)
        /// The response itself.
        case own(Response)
        /// A new response, for those whom its variant fits.
        case shared(ResponseHead, Data, Variant)
        /// Nothing: the caller asks by itself.
        case alone
    }

    struct Seat: Sendable {
        let key: RevalidationKey
        let flight: UInt64
        let number: UInt64
        let landing: OneShot<Landing>
        let isFirst: Bool
    }

    private struct Flight {
        let id: UInt64
        let context: Context
        var task: Task<Void, Never>?
        var seats: [UInt64: OneShot<Landing>]
    }

    private struct State {
        var flights: [RevalidationKey: Flight] = [:]
        var count: UInt64 = 0
    }

    private let state = Mutex(State())

    /// How many wait, for all exchanges.
    var seatCount: Int { state.withLock { $0.flights.values.reduce(0) { $0 + $1.seats.count } } }

    /// Takes a seat; the first one has to see to the exchange.
    func join(_ key: RevalidationKey, context: @autoclosure () -> Context) -> Seat {
        state.withLock { state in
            state.count += 1
            let number = state.count
            let landing = OneShot<Landing>()
            let present = state.flights[key]?.id
            if present == nil {
                state.flights[key] = Flight(
                    id: number, context: context(), seats: [number: landing])
            } else {
                state.flights[key]?.seats[number] = landing
            }
            return Seat(
                key: key, flight: present ?? number, number: number, landing: landing,
                isFirst: present == nil)
        }
    }

    /// The context of a seat's exchange, while it is under way.
    func context(of seat: Seat) -> Context? { flight(of: seat)?.context }

    /// How many wait.
    func waiting(_ seat: Seat) -> Int { flight(of: seat)?.seats.count ?? 0 }

    /// Runs the exchange of a seat.
    func start(_ seat: Seat, _ run: @escaping @Sendable (Context) async -> Void) {
        guard let context = context(of: seat) else { return }
        // It ends by itself, or is cancelled when the last one who waits has left.
        let task = Task.inheriting { await run(context) }
        state.withLock { state in
            if state.flights[seat.key]?.id == seat.flight {
                state.flights[seat.key]?.task = task
            }
        }
    }

    /// Gives a seat up; the last one to do so ends the exchange.
    func leave(_ seat: Seat, _ error: any Error) {
        let (hasLeft, ended) = state.withLock { state -> (Bool, Flight?) in
            guard state.flights[seat.key]?.id == seat.flight,
                state.flights[seat.key]?.seats.removeValue(forKey: seat.number) != nil
            else { return (false, nil) }
            let isLast = state.flights[seat.key]?.seats.isEmpty ?? false
            return (true, isLast ? state.flights.removeValue(forKey: seat.key) : nil)
        }
        if hasLeft { seat.landing.settle(.failure(error)) }
        ended?.context.cancel(.drop)
        ended?.task?.cancel()
    }

    /// Gives the same to all who wait.
    func land(_ seat: Seat, _ result: Result<Landing, any Error>) {
        for landing in close(seat) { landing.settle(result) }
    }

    /// Gives the response to the one who has waited for longest, and nothing to the others.
    func handOver(_ seat: Seat, _ response: Response) {
        let landings = close(seat)
        guard let first = landings.first else { return response.body.cancel(.drop) }
        first.settle(.success(.own(response)))
        for landing in landings.dropFirst() { landing.settle(.success(.alone)) }
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
