// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore

@Suite("CancelRegistration")
struct CancelRegistrationTests {
    @Test("A registration keeps a derived context reachable for an outer cancellation")
    func keepsContext() async throws {
        let clock = ManualClock()
        let outer = Context(timeSource: clock)
        let heard = OneShot<Void>()
        // Nothing else holds the child.
        let registration = outer.child().child().onCancel { _ in heard.settle(.success(())) }
        outer.cancel(.handle)
        #expect(heard.isSettled)
        registration.end()
    }

    @Test("Handlers are called in the order of registration, and only inside the cancelled scope")
    func order() {
        let outer = Context(timeSource: ManualClock())
        let middle = outer.child()
        let notes = Notes()
        let registrations = [outer, middle.child(), middle, outer.child(), middle].enumerated().map
        {
            number, context in context.onCancel { _ in notes.add("\(number)") }
        }
        registrations[2].end()
        middle.cancel(.handle)
        #expect(notes.all == ["1", "4"])
        // Ending what was called takes nothing from those that came into its place.
        let late = outer.child().onCancel { _ in notes.add("late") }
        for registration in registrations[1...] { registration.end() }
        outer.cancel(.handle)
        #expect(notes.all == ["1", "4", "0", "late"])
        late.end()
    }

    @Test("A handler that another handler has removed is not called any more")
    func endedByAnother() {
        let outer = Context(timeSource: ManualClock())
        let inner = outer.child()
        let notes = Notes()
        let second = Mutex<CancelRegistration?>(nil)
        let first = outer.onCancel { _ in
            notes.add("first")
            second.withLock { $0 }?.end()
        }
        second.withLock { $0 = inner.onCancel { _ in notes.add("second") } }
        let third = outer.child().onCancel { _ in notes.add("third") }
        outer.cancel(.handle)
        #expect(notes.all == ["first", "third"])
        for registration in [first, third] { registration.end() }
    }

    @Test("Handlers are released with their context, even if nobody removed them")
    func forgotten() {
        final class Token: Sendable {}
        let outer = Context(timeSource: ManualClock())
        weak var token: Token?
        do {
            let kept = Token()
            token = kept
            _ = outer.child().onCancel { _ in withExtendedLifetime(kept) {} }
        }
        #expect(token == nil)
        outer.cancel(.handle)
    }

    @Test("Cancelling all calls reaches the handlers of each call, but not of later calls")
    func generation() async throws {
        let notes = Notes()
        let client = Client(
            MockTransport { _ in .ok() },
            Around { request, context, next in
                let side = context.detached().child()
                let registration = side.onCancel { notes.add("\(request.method) \($0.owner)") }
                if request.method == .get { try? await context.sleep(for: .seconds(1)) }
                registration.end()
                return try await next(request)
            })
        let calls = (0..<3).map { _ in Task { try await client.get(anywhere).response() } }
        let clock = try #require(client.timeSource as? ManualClock)
        try await clock.waitForTimers(3)
        client.cancelAll()
        for call in calls { _ = await call.result }
        #expect(notes.all == Array(repeating: "GET handle", count: 3))
        _ = try await client.post(anywhere).response()
        #expect(notes.all.count == 3)
    }

    @Test("Loggers receive the events of a detached context")
    func detachedObservers() async throws {
        let notes = Notes()
        struct Logger: RequestLogger {
            let notes: Notes
            func log(_ event: CallEvent) {
                if case .sent = event.kind { notes.add("sent") }
            }
        }
        let client = Client(
            MockTransport { _ in .ok() }, Logger(notes: notes),
            Around { request, context, next in
                try await next(request, context: context.detached())
            })
        _ = try await client.get(anywhere).response()
        #expect(notes.all == ["sent"])
    }
}
