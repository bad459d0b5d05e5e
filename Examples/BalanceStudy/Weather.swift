// SPDX-License-Identifier: Apache-2.0

/// What happens to the endpoints.
enum Weather: String, CaseIterable, Sendable {
    /// Nothing.
    case well = "all well"
    /// The first endpoint takes ten times as long for each request.
    case slow = "one 10 times slower"
    /// The first endpoint answers every other request with 500, after the usual time.
    case failing = "one fails half"
    /// The first endpoint answers each request with 500 at once.
    case blackHole = "one answers 500 at once"
    /// One endpoint after another stops for three seconds.
    case restart = "rolling restart"
    /// A third of the endpoints is silent: no packet comes back.
    case zoneLost = "a zone lost"
    /// A third of the endpoints joins the list, and is slow at first.
    case cold = "cold start of a third"

    /// Whether some endpoints answer much later than the others, or never.
    var delays: Bool { self == .slow || self == .zoneLost }

    /// Returns the phases of an endpoint, in order of time.
    func phases(of endpoint: Int, in scenario: Scenario) -> [Phase] {
        let begin = Double(scenario.before)
        let start = Phase(begin: 0, condition: .well)
        switch self {
        case .well: return [start]
        case .slow where endpoint == 0: return [start, Phase(begin: begin, condition: .slow(10))]
        case .failing where endpoint == 0:
            return [start, Phase(begin: begin, condition: .failing(0.5))]
        case .blackHole where endpoint == 0:
            return [start, Phase(begin: begin, condition: .blackHole)]
        case .restart:
            // Each endpoint is back for a while before the next one stops.
            let step = Double(scenario.weather) / Double(scenario.endpoints + 1)
            let stop = begin + Double(endpoint) * step
            return [
                start, Phase(begin: stop, condition: .stopped),
                Phase(begin: stop + 3, condition: .well),
            ]
        case .zoneLost where scenario.zone(of: endpoint) == "c":
            return [start, Phase(begin: begin, condition: .silent)]
        case .cold where scenario.zone(of: endpoint) == "c":
            return [
                Phase(begin: 0, condition: .stopped), Phase(begin: begin, condition: .cold(10, 20)),
            ]
        case .slow, .failing, .blackHole, .zoneLost, .cold: return [start]
        }
    }

    /// Returns the endpoints that are in the list at a time.
    ///
    /// Those that join later are not.
    func listed(at time: Double, in scenario: Scenario) -> [Int] {
        (0..<scenario.endpoints).filter { endpoint in
            self != .cold || time >= Double(scenario.before) || scenario.zone(of: endpoint) != "c"
        }
    }

    /// Returns the affected endpoints; none if the weather affects none, or each one in turn.
    func affected(in scenario: Scenario) -> [Int] {
        switch self {
        case .well, .restart: []
        case .slow, .failing, .blackHole: [0]
        case .zoneLost, .cold:
            (0..<scenario.endpoints).filter { scenario.zone(of: $0) == "c" }
        }
    }
}

/// A condition of an endpoint, and when that begins.
struct Phase: Sendable, Hashable {
    /// The second at which the condition begins.
    let begin: Double
    /// The condition.
    let condition: Condition
}

/// How an endpoint serves.
enum Condition: Sendable, Hashable {
    case well
    /// Each request takes so many times as long as usual.
    case slow(Double)
    /// A share of the requests gets a 500, after the usual time.
    case failing(Double)
    /// Each request gets a 500 at once.
    case blackHole
    /// The process is not running: connections are refused, and open ones have ended.
    case stopped
    /// Nothing comes back, neither on open connections nor on new ones.
    case silent
    /// Requests take so many times as long at first, and the usual time after so many seconds.
    case cold(Double, Double)
}
