import Foundation
import Testing
import TurnpikeCore
import TurnpikeTesting

@Suite("CancelRegistration")
struct RegistrationTests {
    @Test("Keeps a derived context reachable for a cancellation further out")
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

    @Test("Loggers hear of what runs under a detached context")
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
