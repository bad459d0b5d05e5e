// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("ManualClock")
struct ManualClockTests {
    private let clock = ManualClock(date: Date(timeIntervalSince1970: 100))

    @Test("Handlers run in the order of their times, each at its own time")
    func order() {
        let notes = Notes()
        for (name, delay) in [("c", 3), ("a", 1), ("b", 1)] {
            _ = clock.schedule(after: .seconds(delay)) { [clock] in
                notes.add("\(name)\(clock.now.seconds)")
            }
        }
        clock.advance(by: .seconds(2))
        #expect(notes.all == ["a1", "b1"])
        clock.advance(by: .seconds(1))
        #expect(notes.all == ["a1", "b1", "c3"])
        #expect(clock.date == Date(timeIntervalSince1970: 103))
    }

    @Test("A timer that a handler schedules runs within the same advance")
    func nested() {
        let notes = Notes()
        _ = clock.schedule(after: .seconds(1)) { [clock] in
            _ = clock.schedule(after: .seconds(1)) { notes.add("inner\(clock.now.seconds)") }
        }
        clock.advance(by: .seconds(5))
        #expect(notes.all == ["inner2"])
        #expect(clock.now.seconds == 5)
    }

    @Test("A cancelled handler does not run, and one without delay waits for an advance")
    func cancelling() {
        let notes = Notes()
        let token = clock.schedule(after: .seconds(1)) { notes.add("no") }
        token.cancel()
        token.cancel()
        _ = clock.schedule(after: .zero) { notes.add("now") }
        #expect(notes.all.isEmpty)
        clock.advance(by: .zero)
        #expect(notes.all == ["now"])
        #expect(clock.timerCount == 0)
    }

    @Test("The next timer can be jumped to")
    func jumping() {
        _ = clock.schedule(after: .seconds(7)) {}
        #expect(clock.advanceToNextTimer())
        #expect(clock.now.seconds == 7)
        #expect(!clock.advanceToNextTimer())
    }

    @Test("Waiting for a timer ends when an advance brings one near enough")
    func nearing() async throws {
        _ = clock.schedule(after: .seconds(10)) {}
        let notes = Notes()
        // It runs up to its wait before it gives the thread back.
        _ = Task.inheriting { [clock] in
            let hasCome = (try? await clock.waitForTimer(in: .seconds(3))) != nil
            notes.add(hasCome ? "near" : "too late")
        }
        clock.advance(by: .seconds(7))
        try await until("a note") { !notes.all.isEmpty }
        #expect(notes.all == ["near"])
    }

    @Test("A cancelled task waits for no timer", arguments: [true, false])
    func cancelledWaiter(isWaiting: Bool) async throws {
        let notes = Notes()
        let waiter = Task.inheriting { [clock] in
            if !isWaiting { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
            try? await clock.waitForTimers(1)
            try? await clock.waitForTimer(in: .seconds(1))
            notes.add("left")
        }
        waiter.cancel()
        try await until("a note") { !notes.all.isEmpty }
        #expect(notes.all == ["left"])
    }
}

extension MonotonicInstant {
    fileprivate var seconds: Int {
        Int(MonotonicInstant(nanoseconds: 0).duration(to: self) / .seconds(1))
    }
}
