// SPDX-License-Identifier: Apache-2.0

import Turnpike

/// The scenario of a run: its clients, its endpoints, and when the weather begins.
struct Scenario: Sendable, Hashable {
    /// The number of clients.
    ///
    /// They share no state, as if each were its own process.
    var clients = 20
    /// How many calls each client begins per second.
    var callsPerSecond = 20.0
    /// The number of endpoints.
    var endpoints = 10
    /// How many requests an endpoint serves at a time.
    var workers = 4
    /// The most requests that wait at an endpoint.
    ///
    /// It refuses further ones with 503.
    var queueLimit = 200
    /// The median of the service time in seconds; its distribution is log-normal.
    var median = 0.033
    /// The standard deviation of the logarithm of the service time: its p99 is 4 times the median.
    var spread = 0.6
    /// The time of one round trip in seconds.
    var roundTrip = 0.001
    /// The time limit for a connection in seconds, the default of `CurlTransport`.
    var connectLimit = 10.0
    /// The seconds before the weather.
    var before = 10
    /// The seconds of the weather.
    var weather = 50
    /// The seed of all random values.
    var seed: UInt64 = 1

    /// Creates the scenario of the study.
    init() {}

    /// A scenario with half of the time, the clients and the endpoints, for tests.
    static var small: Scenario {
        var scenario = Scenario()
        scenario.clients = 10
        scenario.endpoints = 5
        scenario.before = 5
        scenario.weather = 25
        return scenario
    }

    /// The duration of a run in seconds.
    var seconds: Int { before + weather }

    /// The address of each endpoint.
    var targets: [ConnectTarget] {
        (0..<endpoints).map { .host("10.0.0.\($0 + 1)", port: 8080) }
    }

    /// The zone of an endpoint.
    ///
    /// The last of the three zones is the one that is lost.
    func zone(of endpoint: Int) -> String { ["a", "b", "c"][endpoint % 3] }
}
