// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore
import TurnpikeSupport

final class AdmissionShares: Sendable {
    enum Answer {
        case admitted
        /// The call is refused. Without further rejections, all calls are admitted after `allIn`.
        case refused(share: Double, allIn: Duration)
    }

    private struct State {
        var shares = BoundedMap<Origin, AdmissionShare>()
        var rules: AdmissionShare.Rules
    }

    private let state: Mutex<State>
    let figures: GateFigures

    private static let refused = "turnpike.admission_control.refused_share"

    private static let help = [
        refused:
            "Share of the calls to a server that admission control refused last, from 0 to 1.",
        "turnpike.admission_control.refusals": "Calls that admission control refused.",
    ]

    init(_ rules: AdmissionShare.Rules, meter: (any GateMeter)?) {
        figures = GateFigures(meter, help: Self.help)
        state = Mutex(State(rules: rules))
    }

    var rules: AdmissionShare.Rules { state.withLock { $0.rules } }

    var count: Int { state.withLock { $0.shares.count } }

    func update(to other: AdmissionShares) {
        let rules = other.rules
        state.withLock { $0.rules = rules }
        figures.move(to: other.figures.meter)
    }

    func share(of origin: Origin, at now: MonotonicInstant) -> Double {
        state.withLock { $0.shares[origin]?.share(at: now, $0.rules) ?? 1 }
    }

    func admit(
        _ origin: Origin, _ criticality: Criticality, at now: MonotonicInstant,
        unit: @Sendable () -> Double
    ) -> Answer {
        var evicted: [Origin] = []
        let (answer, hasShare) = state.withLock { state in
            let rules = state.rules
            return state.shares.update(
                origin, orMake: AdmissionShare(),
                evicting: { origin, share in if share.isLimited { evicted.append(origin) } },
                { share -> (Answer, Bool) in
                    let wasLimited = share.isLimited
                    if share.admit(criticality, at: now, rules, unit: unit) {
                        return (.admitted, wasLimited)
                    }
                    let answer = Answer.refused(
                        share: share.share(at: now, rules), allIn: share.timeToAll(at: now, rules))
                    return (answer, true)
                })
        }
        if hasShare { tell(of: origin, at: now) }
        for origin in evicted { tell(of: origin, at: now) }
        return answer
    }

    func record(
        _ evidence: AdmissionShare.Evidence, _ origin: Origin, sentAt: MonotonicInstant,
        at now: MonotonicInstant
    ) -> Bool {
        let (begins, isLimited) = state.withLock { state in
            let rules = state.rules
            return state.shares.updateIfPresent(origin) { share in
                (share.record(evidence, sentAt: sentAt, at: now, rules), share.isLimited)
            } ?? (false, false)
        }
        if isLimited { tell(of: origin, at: now) }
        return begins
    }

    // MARK: Metrics

    func liveFigures(at now: MonotonicInstant) -> [LiveFigure] {
        state.withLock { state in
            let rules = state.rules
            return state.shares.compactMap { origin, share in
                let share = share.share(at: now, rules)
                if share >= 1 { return nil }
                return LiveFigure(
                    "calls to \(origin)", "\(Int(share * 100)) % are admitted", isTrouble: true)
            }
        }
    }

    /// Reports the refused share of an origin to the meter, or removes the metric.
    func tell(of origin: Origin, at now: MonotonicInstant) {
        figures.tell {
            let share = state.withLock { state in
                state.shares[origin].map { $0.share(at: now, state.rules) }
            }
            var gauges: [GateFigure: Double?] = [:]
            gauges.updateValue(
                share.map { ((1 - $0) * 100).rounded() / 100 },
                forKey: .gauge(Self.refused, origin.meterLabels))
            return gauges
        }
    }
}
