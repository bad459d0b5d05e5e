// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("Context, from several threads")
struct ContextConcurrencyTests {
    private struct Race: Sendable {
        let context = Context(timeSource: ManualClock())
        let outer = Tally()
        let ended = Tally()
    }

    @Test("A handler that races with a cancellation is called once, wherever it was registered")
    func handlers() async {
        let races = (0..<2000).map { _ in Race() }
        await atOnce(
            races,
            { $0.context.cancel(.handle) },
            { $0.context.cancel(.task) },
            { race in _ = race.context.onCancel { _ in race.outer.add() } },
            { race in
                let child = race.context.child()
                let registration = child.child().onCancel { _ in race.ended.add() }
                registration.end()
            })
        #expect(races.allSatisfy { $0.context.cancelReason != nil })
        #expect(races.allSatisfy { $0.outer.count == 1 })
        #expect(races.allSatisfy { $0.ended.count <= 1 })
    }

    @Test("A child is told of its parent's cancellation once, however many handlers register")
    func children() async {
        struct Family: Sendable {
            let parent = Context(timeSource: ManualClock())
            let child: Context
            let heard = Tally()
            init() { child = parent.child() }
        }
        let families = (0..<1000).map { _ in Family() }
        await atOnce(
            families,
            { family in _ = family.child.onCancel { _ in family.heard.add() } },
            { family in _ = family.child.onCancel { _ in family.heard.add() } },
            { $0.parent.cancel(.handle) })
        #expect(families.allSatisfy { $0.heard.count == 2 })
        #expect(families.allSatisfy { $0.child.cancelReason != nil })
    }

    private enum Count: ContextKey {
        static let defaultValue = 0
        static let scope = ContextScope.call
    }

    @Test("Values may be read and written from any thread")
    func values() async {
        let contexts = (0..<1000).map { _ in Context(timeSource: ManualClock()) }
        await atOnce(
            contexts, { $0[Count.self] = 1 }, { $0.child()[Count.self] = 2 },
            { context in #expect((0...2).contains(context.child()[Count.self])) })
        #expect(contexts.allSatisfy { $0[Count.self] > 0 })
    }

    @Test("A sleep ends once, by its time, its context or its task")
    func sleeps() async {
        let clock = ManualClock()
        let contexts = (0..<500).map { _ in Context(timeSource: clock) }
        let ends = Tally()
        await withTaskGroup { group in
            for (number, context) in contexts.enumerated() {
                group.addTask {
                    let sleep = Task {
                        try? await context.sleep(for: .seconds(number % 5 + 1))
                        ends.add()
                    }
                    if number % 3 == 0 { sleep.cancel() }
                    if number % 3 == 1 { context.cancel(.handle) }
                }
            }
            group.addTask {
                while ends.count < 500 {
                    clock.advance(by: .seconds(1))
                    await Task.yield()
                }
            }
        }
        #expect(ends.count == 500)
        #expect(clock.timerCount == 0)
    }
}
