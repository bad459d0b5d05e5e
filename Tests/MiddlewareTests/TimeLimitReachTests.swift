import Foundation
import Testing
import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeTesting

/// What a limit must end although it looks as if there was nothing left to wait for.
@Suite("The reach of time limits")
struct TimeLimitReachTests {
    private let clock = ManualClock()

    @Test("A limit in a group that is passed over spares the one around it nothing")
    func passedOver() async throws {
        let began = AsyncStream.makeStream(of: Void.self)
        let release = AsyncStream.makeStream(of: Void.self)
        let deaf = Around { request, _, next in
            began.continuation.yield()
            await Task { for await _ in release.stream {} }.value
            return try await next(request)
        }
        let client = Client(
            MockTransport { _ in .ok() }, clock: clock,
            [
                .deadline(.seconds(1)),
                .when({ $0.method == .post }, then: [.group([.attemptTimeout(.seconds(1))])]), deaf,
            ])
        let call = Task { await code(of: client.get(anywhere)) }
        for await _ in began.stream.prefix(1) {}
        clock.advance(by: .seconds(1))
        #expect(await call.value == .deadlineExceeded)
        release.continuation.finish()
    }
}
