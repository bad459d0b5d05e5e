// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import Turnpike
import TurnpikeTesting

/// The name of the task that a gate runs in, as a task-local value cannot tell it.
private func currentTask() -> Int {
    unsafe withUnsafeCurrentTask { unsafe $0?.hashValue ?? 0 }
}

private final class Seen: Sendable {
    let task = Mutex<Int?>(nil)
    let hasEnded = Mutex(false)
}

private struct Prompt: Interceptor, PromptlyCancellable {
    let seen: Seen
    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        seen.task.withLock { $0 = currentTask() }
        return try await next(request)
    }
}

private struct Silent: Interceptor {
    let seen: Seen
    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        seen.task.withLock { $0 = currentTask() }
        return try await next(request)
    }
}

/// It promises to end soon, and then waits for a gate to open, deaf to all else.
private struct Broken: Interceptor, PromptlyCancellable {
    let seen: Seen
    let hold: @Sendable () async -> Void
    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        await hold()
        seen.hasEnded.withLock { $0 = true }
        return try await next(request)
    }
}

@Suite("Custom gates that promise to end soon")
struct PromptlyCancellableTests {
    private func client(_ stack: Stack, _ clock: ManualClock = ManualClock()) -> Client {
        Client(
            transport: MockTransport { _ in .ok() }, stack: stack, serializers: .standard,
            timeSource: clock)
    }

    @Test("Below a time limit such a gate costs no task; one that promises nothing does")
    func noTask() async throws {
        let (prompt, silent) = (Seen(), Seen())
        _ = try await client([.deadline(.seconds(10)), Prompt(seen: prompt)])
            .get("https://a.example/").response()
        #expect(prompt.task.withLock { $0 } == currentTask())
        _ = try await client([.deadline(.seconds(10)), Silent(seen: silent)])
            .get("https://a.example/").response()
        #expect(silent.task.withLock { $0 } != currentTask())
    }

    @Test("If the promise is broken, the caller gets the limit's error when the gate ends")
    func broken() async throws {
        let clock = ManualClock()
        let seen = Seen()
        let (stream, opening) = AsyncStream<Void>.makeStream()
        let (begun, beginning) = AsyncStream<Void>.makeStream()
        let stack: Stack = [
            .deadline(.seconds(10)),
            Broken(seen: seen) {
                beginning.finish()
                // In a task that nobody cancels.
                await Task { for await _ in stream {} }.value
            },
        ]
        let client = client(stack, clock)
        let call = Task { try await client.get("https://a.example/").response() }
        for await _ in begun {}
        clock.advance(by: .seconds(11))
        #expect(seen.hasEnded.withLock { $0 } == false)
        opening.finish()
        let error = await #expect(throws: ClientError.self) { try await call.value }
        #expect(error?.code == .deadlineExceeded)
        #expect(seen.hasEnded.withLock { $0 })
    }
}
