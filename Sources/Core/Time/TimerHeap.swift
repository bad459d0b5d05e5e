/// Who keeps a ``TimerHeap`` behind a lock.
package protocol TimerOwner: AnyObject, Sendable {
    /// Takes a timer out of the heap.
    func cancel(_ timer: TimerHeap.Timer)
}

/// What a timer runs.
///
/// A closure that a generic function gives is wrapped anew each time, and this one is not.
package struct TimerAction: Sendable {
    fileprivate let run: @Sendable () -> Void

    package func callAsFunction() { run() }
}

/// Timers in the order of their times, and of their making where those are equal.
///
/// A binary heap whose timers know their positions, so that cancelling one needs no search. Its
/// owner guards it with a lock.
package struct TimerHeap {
    // SAFETY: `position` and `action` are only touched under the lock of the owner.
    package final class Timer: TimerToken, @unchecked Sendable {
        fileprivate let due: MonotonicInstant
        fileprivate let order: UInt64
        fileprivate var position = -1
        private var action: TimerAction?
        private let owner: any TimerOwner

        fileprivate init(
            due: MonotonicInstant, order: UInt64, owner: any TimerOwner,
            handler: @escaping @Sendable () -> Void
        ) {
            self.due = due
            self.order = order
            self.owner = owner
            action = TimerAction(run: handler)
        }

        package func cancel() { owner.cancel(self) }

        fileprivate func takeAction() -> TimerAction? { action.take() }

        fileprivate func isBefore(_ other: Timer) -> Bool {
            due == other.due ? order < other.order : due < other.due
        }
    }

    private var timers: [Timer] = []
    private var made: UInt64 = 0

    package init() {}

    package var count: Int { timers.count }

    /// The times of all timers, in no order.
    package var dues: [MonotonicInstant] { timers.map(\.due) }

    /// When the first timer is due.
    package var nextDue: MonotonicInstant? { timers.first?.due }

    package mutating func insert(
        due: MonotonicInstant, owner: any TimerOwner, _ handler: @escaping @Sendable () -> Void
    ) -> Timer {
        made += 1
        let timer = Timer(due: due, order: made, owner: owner, handler: handler)
        timer.position = timers.count
        timers.append(timer)
        siftUp(from: timer.position)
        return timer
    }

    /// Takes out the first timer, if it is due.
    package mutating func popDue(at now: MonotonicInstant) -> TimerAction? {
        guard let first = timers.first, first.due <= now else { return nil }
        return remove(first)
    }

    /// Takes out a timer, wherever it stands; nil where it is out already.
    package mutating func remove(_ timer: Timer) -> TimerAction? {
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
