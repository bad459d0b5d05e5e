// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore

private enum PerCall: ContextKey { static var defaultValue: Int { 0 } }
private enum PerAttempt: ContextKey {
    static var defaultValue: String { "fresh" }
    static var scope: ContextScope { .attempt }
}

@Suite("Context")
struct ContextTests {
    @Test("Values of a call reach all its attempts; values of an attempt end with it")
    func scopes() async throws {
        let notes = Notes()
        let outer = Around { request, context, next in
            context[PerCall.self] = 1
            context[PerAttempt.self] = "outer"
            await (try await next.attempt(request)).discard(in: context)
            let response = try await next.attempt(request)
            notes.add("\(context[PerCall.self]) \(context[PerAttempt.self])")
            return response
        }
        let inner = Around { request, context, next in
            notes.add("\(context[PerCall.self]) \(context[PerAttempt.self])")
            context[PerCall.self] += 1
            context[PerAttempt.self] = "inner"
            let below = context.child()
            notes.add("\(below[PerCall.self]) \(below[PerAttempt.self])")
            return try await next(request, context: below)
        }
        _ = try await Client(MockTransport { _ in .ok() }, outer, inner).get(anywhere).response()
        #expect(notes.all == ["1 fresh", "2 inner", "2 fresh", "3 inner", "3 outer"])
    }

    @Test("The first reason counts and reaches inner contexts")
    func cancellation() {
        struct First: Error {}
        struct Second: Error {}
        let context = Context(timeSource: ManualClock())
        let child = context.child().child()
        let notes = Notes()
        let early = child.onCancel { notes.add("early \($0.error)") }
        let ended = child.onCancel { _ in notes.add("ended") }
        ended.end()
        context.cancel(.failed(First()))
        context.cancel(.failed(Second()))
        _ = child.onCancel { notes.add("late \($0.error)") }
        #expect(notes.all == ["early First()", "late First()"])
        #expect(child.cancelReason?.error is First)
        #expect(throws: First.self) { try child.checkCancellation() }
        withExtendedLifetime(early) {}
    }

    @Test("An inner context can be cancelled alone")
    func child() {
        let context = Context(timeSource: ManualClock())
        let left = context.child()
        let right = context.child()
        left.cancel(.handle)
        #expect(left.cancelReason != nil)
        #expect(context.cancelReason == nil)
        #expect(right.cancelReason == nil)
    }

    @Test("A detached context is not reached by the caller's cancellation")
    func detached() {
        let clock = ManualClock()
        let context = Context(timeSource: clock).child(
            deadline: clock.now.advanced(by: .seconds(1)))
        let detached = context.detached()
        context.cancel(.handle)
        #expect(detached.cancelReason == nil)
        #expect(detached.deadline == nil)
        #expect(detached.id == context.id)
    }

    @Test("The strictest deadline counts")
    func deadlines() {
        let clock = ManualClock()
        let outer = Context(timeSource: clock).child(deadline: clock.now.advanced(by: .seconds(5)))
        let inner = outer.child(deadline: clock.now.advanced(by: .seconds(9)))
        clock.advance(by: .seconds(2))
        #expect(inner.timeLeft == .seconds(3))
        clock.advance(by: .seconds(20))
        #expect(inner.timeLeft == .zero)
        #expect(Context(timeSource: clock).timeLeft == nil)
    }

    @Test("A sleep ends with its time, its context or its task, whichever is first")
    func sleeping() async throws {
        struct Stop: Error {}
        let clock = ManualClock()
        let context = Context(timeSource: clock)
        let slept = Task { try await context.sleep(for: .seconds(1)) }
        try await clock.waitForTimers(1)
        clock.advance(by: .seconds(1))
        try await slept.value
        let cancelled = Task { try await context.sleep(for: .seconds(1)) }
        try await clock.waitForTimers(1)
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        #expect(clock.timerCount == 0)
        let stopped = Task { try await context.child().sleep(for: .seconds(1)) }
        try await clock.waitForTimers(1)
        context.cancel(.failed(Stop()))
        await #expect(throws: Stop.self) { try await stopped.value }
        await #expect(throws: Stop.self) { try await context.sleep(for: .zero) }
        #expect(clock.timerCount == 0)
    }

    @Test("Random numbers depend only on the seed and the call")
    func random() {
        func numbers(_ seed: UInt64) -> [UInt64] {
            let context = Context(
                timeSource: ManualClock(), randomSource: SeededRandomSource(seed: seed))
            return (0..<5).map { _ in context.random.next() }
        }
        #expect(numbers(7) == numbers(7))
        #expect(numbers(7) != numbers(8))
        let unit = Context().random.unit()
        #expect((0..<1).contains(unit))
    }
}
