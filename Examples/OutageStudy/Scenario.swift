/// What happens in a run: who calls, how much the server bears, and when it bears less.
package struct Scenario: Sendable, Hashable {
    /// The clients; each has a stack of its own.
    package var clients = 200
    /// The calls that each client begins in a second.
    package var callsPerSecond = 1.0
    /// The requests that the well server answers in a second.
    package var capacity = 500.0
    /// The requests that it answers in a second while it is browned out.
    package var brownCapacity = 60.0
    /// The requests that may wait in it; more are refused with 503.
    package var queueLimit = 2000
    /// The seconds before the brown-out.
    package var before = 20
    /// The seconds of the brown-out.
    package var outage = 60
    /// The seconds behind it.
    package var after = 120
    /// Decides all chance.
    package var seed: UInt64 = 1

    /// Creates the scenario of the study.
    package init() {}

    /// The same scenario with a tenth of the clients and a shorter outage: for tests.
    package static var small: Scenario {
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

    /// The seconds of a run.
    package var seconds: Int { before + outage + after }

    /// The seconds of the brown-out, from the run's begin.
    package var outageSeconds: Range<Int> { before..<(before + outage) }

    /// The calls that all clients begin in a second.
    package var offered: Double { Double(clients) * callsPerSecond }
}
