// SPDX-License-Identifier: Apache-2.0

/// The scenario of a run: the number of clients, and the capacity of the server over time.
struct Scenario: Sendable, Hashable {
    /// The number of clients; each has its own stack.
    var clients = 200
    /// How many calls each client starts per second.
    var callsPerSecond = 1.0
    /// The requests per second that the healthy server answers.
    var capacity = 500.0
    /// The requests per second that the server answers during the brown-out.
    var brownCapacity = 60.0
    /// The most requests that may wait at the server.
    ///
    /// It refuses further ones with 503.
    var queueLimit = 2000
    /// The seconds before the brown-out.
    var before = 20
    /// The seconds of the brown-out.
    var outage = 60
    /// The seconds after the brown-out.
    var after = 120
    /// The seed of all random values.
    var seed: UInt64 = 1

    /// Creates the scenario of the study.
    init() {}

    /// The same scenario with a tenth of the clients and a shorter outage, for tests.
    static var small: Scenario {
        var scenario = Scenario()
        scenario.clients = 20
        scenario.capacity = 50
        scenario.brownCapacity = 6
        scenario.queueLimit = 200
        scenario.before = 10
        scenario.outage = 30
        scenario.after = 60
        return scenario
    }

    /// The duration of a run in seconds.
    var seconds: Int { before + outage + after }

    /// The seconds of the brown-out, counted from the start of the run.
    var outageSeconds: Range<Int> { before..<(before + outage) }

    /// How many calls all clients start per second.
    var offered: Double { Double(clients) * callsPerSecond }
}
