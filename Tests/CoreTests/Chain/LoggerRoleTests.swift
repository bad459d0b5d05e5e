// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore

private enum Caller {
    @TaskLocal static var name = "nobody"
}

private struct RetryOnce: RequestRetrier {
    func retry(_ outcome: Outcome, context: Context) async -> RetryDecision {
        outcome.attempts < 2 ? .retry(after: .zero) : .stop
    }
}

@Suite("RequestLogger")
struct LoggerRoleTests {
    private let notes = Notes()

    @Test("A logger may return another one for each pass, which gets all its events")
    func loggerForPass() async throws {
        struct Pass: RequestLogger {
            let caller: String
            let notes: Notes
            func log(_ event: CallEvent) {
                notes.add("\(caller) \("\(event.kind)".prefix { $0 != "(" })")
            }
        }
        struct Callers: RequestLogger {
            let notes: Notes
            func log(_ event: CallEvent) { notes.add("nobody \(event.kind)") }
            func loggerForPass() -> (any RequestLogger)? { Pass(caller: Caller.name, notes: notes) }
        }
        let client = Client(MockTransport { _ in .ok(text: "x") }, Callers(notes: notes))
        let response = try await Caller.$name.withValue("a") {
            try await client.get(anywhere).response()
        }
        try await Caller.$name.withValue("b") {
            _ = try await response.body.collect(upTo: 10)
        }
        #expect(
            notes.all == ["a began", "a sent", "a received", "a responded", "a bodyEnded"])
    }

    @Test("Events have the origin of the request, and how often the call was sent again")
    func originAndResends() async throws {
        struct Watching: RequestLogger {
            let notes: Notes
            func log(_ event: CallEvent) {
                guard case .sent = event.kind else { return }
                notes.add("\(event.origin?.description ?? "none") \(event.resendCount)")
                #expect(event.method == .get)
                #expect(event.url() == event.request?.url)
            }
        }
        let transport = MockTransport([.any(.status(503), .ok())])
        let client = Client(
            transport, RetryOnce(),
            Watching(notes: notes))
        _ = try await client.get(anywhere).response()
        #expect(notes.all == ["http://a.example 0", "http://a.example 1"])
    }
}
