// SPDX-License-Identifier: Apache-2.0

/// A binary heap of timers, ordered by due time and, for equal times, by creation.
///
/// A timer is cancelled without a search, because each timer stores its position. Times are
/// nanoseconds on the clock of the owner. The owner protects the heap with a lock.
public struct TimerHeap {
    /// The owner of a heap, which protects the heap with a lock.
    public protocol Owner: AnyObject, Sendable {
        /// Removes a timer from the heap.
        func cancel(_ timer: Timer)
    }

    /// The handler of a timer; a struct, because generic functions wrap each closure.
    public struct Action: Sendable {
        fileprivate let run: @Sendable () -> Void

        /// Runs the handler.
        public func callAsFunction() { run() }
    }

    // SAFETY: `position` and `action` are accessed only while the owner's lock is held.
    /// A timer in a heap.
    public final class Timer: @unchecked Sendable {
        fileprivate let due: Int64
        fileprivate let order: UInt64
        fileprivate var position = -1
        private var action: Action?
        private let owner: any Owner

        fileprivate init(
            due: Int64, order: UInt64, owner: any Owner,
            handler: @escaping @Sendable () -> Void
        ) {
            self.due = due
            self.order = order
            self.owner = owner
            action = Action(run: handler)
        }

        /// Removes the timer from the heap; without effect if the timer has run.
        public func cancel() { owner.cancel(self) }

        fileprivate func takeAction() -> Action? { action.take() }

        fileprivate func isBefore(_ other: Timer) -> Bool {
            due == other.due ? order < other.order : due < other.due
        }
    }

    private var timers: [Timer] = []
    private var made: UInt64 = 0

    /// Creates an empty heap.
    public init() {}

    /// The number of pending timers.
    public var count: Int { timers.count }

    /// The due times of all timers, in no particular order.
    public var dues: [Int64] { timers.map(\.due) }

    /// The time when the first timer is due.
    public var nextDue: Int64? { timers.first?.due }

    /// Adds a timer.
    /// - Parameters:
    ///   - due: The time when the timer is due, in nanoseconds on the clock of the owner.
    ///   - owner: The object whose lock protects the heap.
    ///   - handler: The closure to run.
    /// - Returns: The timer.
    public mutating func insert(
        due: Int64, owner: any Owner, _ handler: @escaping @Sendable () -> Void
    ) -> Timer {
        made += 1
        let timer = Timer(due: due, order: made, owner: owner, handler: handler)
        timer.position = timers.count
        timers.append(timer)
        siftUp(from: timer.position)
        return timer
    }

    /// Removes the first timer and returns its handler, or nil if no timer is due.
    public mutating func popDue(at now: Int64) -> Action? {
        guard let first = timers.first, first.due <= now else { return nil }
        return remove(first)
    }

    /// Removes a timer and returns its handler, or nil if the timer was already removed.
    public mutating func remove(_ timer: Timer) -> Action? {
        guard timer.position >= 0 else { return nil }
        let position = timer.position
        let last = timers.count - 1
        if position != last { exchange(position, last) }
        timer.position = -1
        timers.removeLast()
        if position < timers.count {
            siftDown(from: position)
            siftUp(from: position)
        }
        return timer.takeAction()
    }

    private mutating func siftUp(from start: Int) {
        var child = start
        while child > 0 {
            let parent = (child - 1) / 2
            guard timers[child].isBefore(timers[parent]) else { return }
            exchange(child, parent)
            child = parent
        }
    }

    private mutating func siftDown(from start: Int) {
        var parent = start
        while true {
            var first = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < timers.count {
                if timers[child].isBefore(timers[first]) { first = child }
            }
            if first == parent { return }
            exchange(parent, first)
            parent = first
        }
    }

    private mutating func exchange(_ left: Int, _ right: Int) {
        timers.swapAt(left, right)
        timers[left].position = left
        timers[right].position = right
    }
}
