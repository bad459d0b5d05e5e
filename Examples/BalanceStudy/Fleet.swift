// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Turnpike
import TurnpikeCore
import TurnpikeEndpoints

/// The endpoints of a run under its weather.
final class Fleet: Sendable {
    private struct State {
        var endpoints: [SimulatedEndpoint]
        var generator: SeededGenerator
    }

    /// The scenario.
    let scenario: Scenario
    private let weather: Weather
    private let numbers: [ConnectTarget: Int]
    private let state: Mutex<State>

    /// Creates a fleet.
    init(_ weather: Weather, _ scenario: Scenario) {
        self.scenario = scenario
        self.weather = weather
        numbers = Dictionary(
            uniqueKeysWithValues: scenario.targets.enumerated().map { ($1, $0) })
        let endpoints = (0..<scenario.endpoints).map { SimulatedEndpoint($0, weather, scenario) }
        state = Mutex(
            State(endpoints: endpoints, generator: SeededGenerator(seed: scenario.seed ^ 0xF1EE7)))
    }

    /// The requests that were sent to each endpoint since the weather began.
    var arrivals: [Int] { state.withLock { $0.endpoints.map(\.arrivals) } }

    /// Returns the number of the endpoint at an address.
    func number(of target: ConnectTarget) -> Int? { numbers[target] }

    /// Returns the endpoints in the list at a time.
    func listed(at time: Double) -> [Int] { weather.listed(at: time, in: scenario) }

    /// Opens a connection to an endpoint, and returns the endpoint's condition.
    func connect(to number: Int, at time: Double) -> Condition {
        state.withLock { $0.endpoints[number].connect(at: time) }
    }

    /// Whether an endpoint has closed a connection.
    func hasClosed(_ connection: Connection, by time: Double) -> Bool {
        state.withLock {
            $0.endpoints[connection.endpoint].hasStopped(after: connection.opened, until: time)
        }
    }

    /// Sends a request to an endpoint.
    func serve(_ number: Int, at time: Double) -> SimulatedEndpoint.Fate {
        state.withLock { $0.endpoints[number].serve(at: time, using: &$0.generator) }
    }
}

/// A connection of a client to an endpoint.
struct Connection: Sendable, Hashable {
    /// The number of the endpoint.
    let endpoint: Int
    /// The second at which the connection was opened.
    let opened: Double
}

/// The resolver of the fleet.
///
/// Its answer is the current list, which is fresh for a second.
struct FleetResolver: EndpointResolver {
    /// The fleet.
    let fleet: Fleet

    func endpoints(in context: Context) async throws -> EndpointList {
        let now = Double(context.timeSource.now.nanoseconds) / 1e9
        let targets = fleet.scenario.targets
        let endpoints = fleet.listed(at: now).map {
            Endpoint(targets[$0], zone: fleet.scenario.zone(of: $0))
        }
        return EndpointList(endpoints, freshFor: .seconds(1))
    }
}
