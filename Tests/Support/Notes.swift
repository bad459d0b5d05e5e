// SPDX-License-Identifier: Apache-2.0

import Synchronization
package import TurnpikeCore

/// Notes in the order in which they were taken.
package final class Notes: Sendable {
    private let kept = Mutex<[String]>([])
    package var all: [String] { kept.withLock { $0 } }

    package init() {}

    package func add(_ note: String) { kept.withLock { $0.append(note) } }
}

/// Keeps what gates report to a log.
package final class ReportedNotes: RequestLogger {
    private let notes = Notes()
    package var all: [String] { notes.all }

    package init() {}

    package func log(_ event: CallEvent) {
        if case .note(let gate, let message) = event.kind { notes.add("\(gate): \(message)") }
    }
}

/// A number that many count up.
package final class Tally: Sendable {
    private let number = Atomic(0)
    package var count: Int { number.load(ordering: .acquiring) }

    package init() {}

    /// Counts one more, and returns the number.
    @discardableResult
    package func add() -> Int { number.add(1, ordering: .acquiringAndReleasing).newValue }
}

/// Runs actions side by side, each over all of the things in turn.
///
/// What they have in common is touched from several threads, in an order that no one decides.
package func atOnce<Thing: Sendable>(
    _ things: [Thing], _ actions: (@Sendable (Thing) async -> Void)...
) async {
    await withTaskGroup { group in
        for action in actions {
            group.addTask { for thing in things { await action(thing) } }
        }
    }
}
