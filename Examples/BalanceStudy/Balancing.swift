// SPDX-License-Identifier: Apache-2.0

import Turnpike
import TurnpikeEndpoints

/// How a client chooses the endpoint of a request.
enum Balancing: String, CaseIterable, Sendable {
    /// It does not choose: it keeps the connection that DNS has led it to.
    case none
    /// One endpoint after another.
    case roundRobin
    /// Of two random endpoints, the one with fewer running requests.
    case leastRequests
    /// Of two random endpoints, the one with the lower product of latency and load.
    case peakEWMA

    private var policy: BalancingPolicy? {
        switch self {
        case .none: nil
        case .roundRobin: .roundRobin
        case .leastRequests: .leastRequests
        case .peakEWMA: .peakEWMA
        }
    }

    /// Returns the standard stack, with or without its retry, around the choice of an endpoint.
    func stack(_ retrying: Retrying, _ fleet: Fleet) -> Stack {
        var stack: Stack =
            switch retrying {
            case .none:
                [
                    .deadline(), .validate(), .redirect(), .attemptTimeout(), .idleTimeout(),
                    .limits(),
                ]
            case .standard: .standard
            case .prompt:
                [
                    .deadline(), .validate(), .redirect(), .retry(),
                    .attemptTimeout(.seconds(1)), .idleTimeout(), .limits(),
                ]
            }
        if let policy {
            stack.gates.append(
                Endpoints(for: Study.host, from: FleetResolver(fleet: fleet), policy: policy))
        }
        return stack
    }
}

/// What a client does about failed attempts.
enum Retrying: String, CaseIterable, Sendable {
    /// The call fails.
    case none = "no retry"
    /// The standard stack, whose attempts have 10 s.
    case standard = "standard stack"
    /// The standard stack with attempts of 1 s.
    case prompt = "attempts of 1 s"
}
