// SPDX-License-Identifier: Apache-2.0

/// Two counts over the last period, which consists of slots that expire one by one.
public struct SlidingWindow: Sendable {
    private struct Slot {
        var first = 0
        var second = 0
    }

    private let slotWidth: Int64
    private var slots: [Slot]
    // The number of the newest slot, counted from the origin of the clock.
    private var tick: Int64 = .min

    /// The first count over the window.
    public private(set) var first = 0
    /// The second count over the window.
    public private(set) var second = 0

    /// Creates a window without counts.
    /// - Parameters:
    ///   - span: The length of the period.
    ///   - count: The number of slots, at least 1.
    public init(span: Duration, slots count: Int) {
        slotWidth = max(span.wholeNanoseconds / Int64(count), 1)
        slots = Array(repeating: Slot(), count: count)
    }

    /// Drops the slots that are too old.
    /// - Parameter now: The time, in nanoseconds of the monotonic clock.
    public mutating func advance(to now: Int64) {
        let present = now / slotWidth
        guard present > tick else { return }
        if tick == .min || present - tick >= Int64(slots.count) {
            clear()
        } else {
            for passed in (tick + 1)...present { forget(index(of: passed)) }
        }
        tick = present
    }

    /// Adds to the counts of the newest slot.
    public mutating func add(first: Int = 0, second: Int = 0) {
        let index = index(of: tick)
        slots[index].first += first
        slots[index].second += second
        self.first += first
        self.second += second
    }

    /// Lowers the second count by one, in the newest slot whose second count is not zero.
    public mutating func takeBackSecond() {
        for age in 0..<Int64(slots.count) {
            let index = index(of: tick - age)
            guard slots[index].second > 0 else { continue }
            slots[index].second -= 1
            second -= 1
            return
        }
    }

    /// Resets both counts.
    public mutating func clear() {
        for index in slots.indices { slots[index] = Slot() }
        first = 0
        second = 0
    }

    private mutating func forget(_ index: Int) {
        first -= slots[index].first
        second -= slots[index].second
        slots[index] = Slot()
    }

    // The tick may be negative, because a clock may begin below zero.
    private func index(of tick: Int64) -> Int {
        let remainder = Int(tick == .min ? 0 : tick % Int64(slots.count))
        return remainder < 0 ? remainder + slots.count : remainder
    }
}
