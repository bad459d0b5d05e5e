// SPDX-License-Identifier: Apache-2.0

import Turnpike

/// The scenario that is simulated.
struct Scenario: Sendable {
    /// How many replicas the service has.
    var replicas = 12
    /// How many requests per second the account may send.
    var quota = 120.0
    /// How many requests may come at once after a pause.
    var burst = 24
    /// How many replicas get most of the calls.
    var busyReplicas = 3
    /// The calls per second of a busy replica.
    var busyRate = 60.0
    /// The calls per second of each other replica.
    var quietRate = 6.0
    /// How long a call waits for a permit before it fails.
    var patience = Duration.seconds(2)
    /// How long the simulation lasts, in seconds.
    var seconds = 40
    /// When the store is unreachable, in seconds.
    var outage = 15..<25
    /// The seed of all random values.
    var seed: UInt64 = 1

    /// A short scenario for tests.
    static var small: Scenario {
        var scenario = Scenario()
        scenario.seconds = 12
        scenario.outage = 4..<8
        return scenario
    }

    /// How many calls per second a replica begins.
    func rate(of replica: Int) -> Double { replica < busyReplicas ? busyRate : quietRate }
}

/// How the replicas keep the quota.
enum Limiting: String, CaseIterable, Sendable {
    case whole = "local, each the whole quota"
    case part = "local, each a twelfth"
    case shared = "shared"
    case outage = "shared, the store is away"

    /// Whether the replicas share the quota.
    var isShared: Bool { self == .shared || self == .outage }
}
