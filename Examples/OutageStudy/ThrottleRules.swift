// SPDX-License-Identifier: Apache-2.0

/// Two counts over a recent period, in ten slots.
struct Counts: Sendable {
    private let width: Double
    private var slots = Array(repeating: (first: 0.0, second: 0.0), count: 10)
    private var tick = 0
    private(set) var first = 0.0
    private(set) var second = 0.0

    init(seconds: Double) { width = seconds / 10 }

    mutating func advance(to now: Double) {
        let present = Int(now / width)
        while tick < present {
            tick += 1
            first -= slots[tick % 10].first
            second -= slots[tick % 10].second
            slots[tick % 10] = (0, 0)
        }
    }

    mutating func add(_ first: Double, _ second: Double) {
        slots[tick % 10].first += first
        slots[tick % 10].second += second
        self.first += first
        self.second += second
    }
}

/// Adaptive throttling ("Site Reliability Engineering", 2016, chapter 21): admits about a multiple
/// of the recently accepted calls.
struct RequestsPerAccepts: ThrottleRule {
    private let multiple: Double
    // The requested calls, including refused ones, and the accepted calls.
    private var counts: Counts

    init(multiple: Double, seconds: Double) {
        self.multiple = multiple
        counts = Counts(seconds: seconds)
    }

    mutating func admits(at now: Double, underWay: Int, unit: Double) -> Bool {
        counts.advance(to: now)
        let refused = (counts.first - multiple * counts.second) / (counts.first + 1)
        counts.add(1, 0)
        return unit >= refused
    }

    mutating func learn(accepted: Bool, wait: Double, at now: Double, underWay: Int) {
        counts.advance(to: now)
        if accepted { counts.add(0, 1) }
    }
}

/// Envoy's admission control filter: the further the success rate of sent calls is below a
/// threshold, the more calls it refuses.
struct SuccessRate: ThrottleRule {
    private let threshold = 0.95
    private let aggression: Double
    private let most: Double
    private var counts = Counts(seconds: 30)

    init(aggression: Double, most: Double) {
        self.aggression = aggression
        self.most = most
    }

    mutating func admits(at now: Double, underWay: Int, unit: Double) -> Bool {
        counts.advance(to: now)
        let share = max(counts.first - counts.second / threshold, 0) / (counts.first + 1)
        return unit >= min(share.power(1 / aggression), most)
    }

    mutating func learn(accepted: Bool, wait: Double, at now: Double, underWay: Int) {
        counts.advance(to: now)
        counts.add(1, accepted ? 1 : 0)
    }
}

/// Additive increase and multiplicative decrease of the admitted share (Chiu and Jain, 1989), at most
/// one decrease a second.
struct IncreaseDecrease: ThrottleRule {
    private let increase: Double
    private let decrease: Double
    private var share = 1.0
    private var grownAt = 0.0
    private var cutAt = -1.0

    init(increase: Double, decrease: Double) {
        self.increase = increase
        self.decrease = decrease
    }

    mutating func admits(at now: Double, underWay: Int, unit: Double) -> Bool {
        grow(now)
        return unit < share
    }

    mutating func learn(accepted: Bool, wait: Double, at now: Double, underWay: Int) {
        grow(now)
        guard !accepted, now - cutAt >= 1 else { return }
        cutAt = now
        share = max(share * decrease, 0.01)
    }

    private mutating func grow(_ now: Double) {
        share = min(share + increase * (now - grownAt), 1)
        grownAt = now
    }
}

/// Netflix's Gradient2 limit on running attempts, from the usual wait and the current one.
struct Gradient: ThrottleRule {
    private var limit = 20.0
    private var usual = 0.0

    mutating func admits(at now: Double, underWay: Int, unit: Double) -> Bool {
        underWay < Int(limit)
    }

    mutating func learn(accepted: Bool, wait: Double, at now: Double, underWay: Int) {
        usual = usual == 0 ? wait : usual + (wait - usual) * 2 / 601
        if usual > 2 * wait { usual *= 0.95 }
        guard Double(underWay) >= limit / 2 else { return }
        let gradient = max(0.5, min(1, 1.5 * usual / wait))
        let new = limit * gradient + 4
        limit = max(1, min(200, limit * 0.8 + new * 0.2))
    }
}

/// Netflix's Vegas limit on running attempts, from the queue that the shortest wait implies.
struct Vegas: ThrottleRule {
    private var limit = 20.0
    private var shortest = Double.infinity

    mutating func admits(at now: Double, underWay: Int, unit: Double) -> Bool {
        underWay < Int(limit)
    }

    mutating func learn(accepted: Bool, wait: Double, at now: Double, underWay: Int) {
        let step = max(limit.logarithm10, 1)
        guard accepted else {
            limit = max(limit - step, 1)
            return
        }
        shortest = min(shortest, wait)
        guard Double(underWay) >= limit / 2 else { return }
        let queue = limit * (1 - shortest / wait)
        if queue < 3 * step { limit = min(limit + step, 1000) }
        if queue > 6 * step { limit = max(limit - step, 1) }
    }
}

/// CoDel (RFC 8289) for the waits of a client: while all waits of an interval are above a target,
/// it refuses calls more and more often.
struct ControlledDelay: ThrottleRule {
    private let target = 0.1
    private let interval = 1.0
    private var aboveSince: Double?
    private var refusals = 0.0
    private var nextRefusal = 0.0

    mutating func admits(at now: Double, underWay: Int, unit: Double) -> Bool {
        guard let aboveSince, now - aboveSince >= interval else {
            refusals = 0
            return true
        }
        if refusals == 0 { nextRefusal = now }
        guard now >= nextRefusal else { return true }
        refusals += 1
        nextRefusal += interval / refusals.squareRoot()
        return false
    }

    mutating func learn(accepted: Bool, wait: Double, at now: Double, underWay: Int) {
        if accepted, wait <= target { aboveSince = nil } else { aboveSince = aboveSince ?? now }
    }
}
