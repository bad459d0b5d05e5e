// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore

private struct Fault: Error, CustomStringConvertible { let description: String }

/// A gate of two phases that notes what it does, and does something else for each seed.
private struct Step: PhasedInterceptor, PromptlyCancellable {
    enum Before: CaseIterable { case nothing, fails, child, limit, limitToHead }
    enum After: CaseIterable { case passes, fails, resumes, repeats, replaces }

    let name: String
    let before: Before
    let after: After
    let notes: Notes

    func before(_ request: Request, context: Context, next: Next) throws -> Context {
        notes.add("> \(name)")
        switch before {
        case .nothing: return context
        case .fails: throw Fault(description: name)
        case .child: return context.child()
        case .limit, .limitToHead:
            let name = name
            return context.child(within: .seconds(5), upToHead: before == .limitToHead) { limit in
                ClientError(.attemptTimeout, "\(name) after \(limit)")
            }
        }
    }

    func after(_ response: Response, to request: Request, context: Context) throws -> Bool {
        notes.add("< \(name) \(response.status.code)")
        switch after {
        case .passes: return true
        case .fails:
            response.body.cancel(.drop)
            throw Fault(description: "after \(name)")
        case .resumes, .repeats, .replaces: return false
        }
    }

    func resume(
        after result: Result<Response, any Error>, to request: Request, context: Context, next: Next
    ) async throws -> Response {
        notes.add("? \(name)")
        switch after {
        case .repeats:
            if case .success(let response) = result { await response.discard(in: context) }
            return try await next(request)
        case .replaces: return Response(to: request, status: 299)
        default: return try result.get()
        }
    }
}

/// The same gate as an interceptor that stands for itself.
private struct Plain: Interceptor, PromptlyCancellable {
    let step: Step

    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        try await step.intercept(request, context: context, next: next)
    }
}

private struct Refuse: ResponseValidator {
    let code: Int
    func validate(_ response: Response, for request: Request, context: Context) throws {
        if response.status.code == code { throw ClientError(.validation, "refused \(code)") }
    }
}

private struct Again: RequestRetrier, PromptlyCancellable {
    func retry(_ outcome: Outcome, context: Context) async -> RetryDecision {
        outcome.attempts < 3 && outcome.status?.isSuccessful != true ? .retry(after: .zero) : .stop
    }
}

private struct Journal: RequestLogger {
    let notes: Notes
    func log(_ event: CallEvent) { notes.add("log \("\(event.kind)".prefix { $0 != "(" })") }
}

/// Waits for what its context knows nothing of.
private struct Deaf: Interceptor {
    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        try await next(request)
    }
}

@Suite("Gates of two phases")
struct PhasedInterceptorTests {
    /// Runs one call through a stack that a seed makes up, and notes all that can be seen of it.
    private static func run(_ seed: UInt64, phased: Bool, traced: Bool = false) async -> [String] {
        var random = SeededGenerator(seed: seed)
        let (notes, clock) = (Notes(), ManualClock())
        let gates: [any Gate] = (0..<random.int(1...7)).map { index in
            switch random.int(0...11) {
            case 0: return Refuse(code: 404)
            case 1: return Again()
            case 2: return Journal(notes: notes)
            case 3: return Deaf()
            default:
                let step = Step(
                    name: "\(index)",
                    before: random.pick([.nothing, .nothing] + Step.Before.allCases),
                    after: random.pick([.passes, .passes, .passes] + Step.After.allCases),
                    notes: notes)
                return phased ? step : Plain(step: step)
            }
        }
        let choices = (0..<64).map { _ in random.int(0...9) }
        let sends = Tally()
        let transport = MockTransport { request in
            let choice = choices[sends.add() % choices.count]
            notes.add("send \(choice)")
            switch choice {
            case 0: return .failure(Fault(description: "transport"))
            case 1: clock.advance(by: .seconds(6))
            case 2: return .status(404, body: Data("none".utf8))
            case 3: return .status(302, body: Data("there".utf8))
            default: break
            }
            return .status(200, body: Data("right".utf8))
        }
        let client = Client(transport, clock: clock, Stack(gates))
        var call = client.get(anywhere)
        if traced { call.readers = [Silent()] }
        do {
            let response = try await call.response()
            notes.add("= \(response.status.code)")
            clock.advance(by: .seconds(6))
            notes.add(String(decoding: try await response.body.collect(upTo: 100), as: UTF8.self))
        } catch {
            notes.add("! \(error)")
        }
        return notes.all + ["running \(client.runningCallCount)", "timers \(clock.timerCount)"]
    }

    @Test("They do what interceptors with the same steps do, in the same order")
    func likeInterceptors() async throws {
        var lengths: Set<Int> = []
        try await forAllSeeds(500) { random in
            let seed = UInt64(random.int(0...Int(Int32.max)))
            let (one, other) = (
                await Self.run(seed, phased: true), await Self.run(seed, phased: false)
            )
            lengths.insert(one.count)
            return one == other ? nil : "\(one) is not \(other)"
        }
        #expect(lengths.count > 10)
    }

    @Test("A trace changes nothing of it")
    func traced() async throws {
        try await forAllSeeds(200) { random in
            let seed = UInt64(random.int(0...Int(Int32.max)))
            let (one, other) = (
                await Self.run(seed, phased: true),
                await Self.run(seed, phased: true, traced: true)
            )
            return one == other ? nil : "\(one) is not \(other)"
        }
    }

    @Test("More of them than fit into one frame all act, and back in the reverse order")
    func many() async throws {
        let notes = Notes()
        let gates = (0..<150).map {
            Step(name: "\($0)", before: .child, after: .passes, notes: notes)
        }
        _ = try await Client(MockTransport { _ in .ok() }, Stack(gates)).get(anywhere).response()
        let names = (0..<150).map { "\($0)" }
        #expect(notes.all == names.map { "> \($0)" } + names.reversed().map { "< \($0) 200" })
    }

    private struct Stranger: PhasedInterceptor {
        func before(_ request: Request, context: Context, next: Next) throws -> Context {
            context.detached()
        }
    }

    @Test("A context that is no child of the given one is a fault that names the gate")
    func stranger() async throws {
        let client = Client(MockTransport { _ in .ok() }, Stranger())
        let error = await #expect(throws: ClientError.self) {
            try await client.get(anywhere).response()
        }
        #expect(error?.code == .configuration && error?.message.contains("Stranger") == true)
    }
}

/// Reads a call and says nothing.
private struct Silent: CallReader {
    func read(_ step: CallStep, in context: Context) {}
}
