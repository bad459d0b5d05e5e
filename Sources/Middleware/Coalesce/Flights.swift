import Foundation
import Synchronization
import TurnpikeCore

/// What makes two requests the same.
struct FlightKey: Hashable {
    let method: HTTPMethod
    let url: String
    let headers: [HTTPHeaders.Field]
    // Calls with gates of their own are like no others.
    let plan: ObjectIdentifier
}

/// The exchanges that calls share, and who waits for each.
final class Flights: Sendable {
    /// What a shared exchange gives to one of those who wait.
    enum Landing: Sendable {
        /// The same response for all.
        case shared(ResponseHead, Data, trailers: HTTPHeaders)
        /// The response itself, whose body is too large or too long to share.
        case own(Response)
        /// Nothing: the call is to be sent by itself.
        case alone
    }

    /// A place in a shared exchange.
    struct Seat: Sendable {
        let key: FlightKey
        let flight: UInt64
        let number: UInt64
        let landing: OneShot<Landing>
        let isFirst: Bool
    }

    private struct Flight {
        let id: UInt64
        let context: Context
        var task: Task<Void, Never>?
        var seats: [UInt64: OneShot<Landing>] = [:]
    }

    private struct State {
        var flights: [FlightKey: Flight] = [:]
        var count: UInt64 = 0
    }

    private let state = Mutex(State())

    /// How many calls wait.
    var seatCount: Int { state.withLock { $0.flights.values.reduce(0) { $0 + $1.seats.count } } }

    /// Takes a seat in the exchange for a key; the first one has to start it.
    func join(_ key: FlightKey, context: @autoclosure () -> Context) -> Seat {
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

    /// Runs the exchange of a seat's flight.
    func start(_ seat: Seat, _ run: @escaping @Sendable (Context) async -> Void) {
        let context = state.withLock { state in
            state.flights[seat.key].flatMap { $0.id == seat.flight ? $0.context : nil }
        }
        guard let context else { return }
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
