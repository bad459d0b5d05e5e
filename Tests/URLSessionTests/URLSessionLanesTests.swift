// SPDX-License-Identifier: Apache-2.0

import Testing
import TurnpikeCore

@testable import TurnpikeURLSession

@Suite("Sessions with one exchange at a time")
struct URLSessionLanesTests {
    private final class Session {}
    private typealias Lanes = URLSessionLanes<Session, Int>

    private let here = Origin(scheme: "https", host: "a.example", port: 443)
    private let there = Origin(scheme: "https", host: "b.example", port: 443)

    /// Places an exchange, in a new session where there may be one.
    private func begin(_ exchange: Int, _ origin: Origin, in lanes: inout Lanes) -> Session? {
        switch lanes.place(exchange, for: origin) {
        case .free(let session): return session
        case .new:
            let session = Session()
            lanes.occupy(session, for: origin)
            return session
        case .inLine: return nil
        }
    }

    @Test("A session serves one exchange, then the next, the latest used first")
    func reuse() throws {
        var lanes = Lanes(maxPerOrigin: 3)
        let first = try #require(begin(1, here, in: &lanes))
        let second = try #require(begin(2, here, in: &lanes))
        #expect(first !== second)
        _ = lanes.release(first)
        _ = lanes.release(second)
        #expect(begin(3, here, in: &lanes) === second)
        #expect(begin(4, here, in: &lanes) === first)
        #expect(begin(5, there, in: &lanes) !== first)
    }

    @Test("Exchanges beyond the limit of an origin wait in order")
    func line() throws {
        var lanes = Lanes(maxPerOrigin: 1)
        let session = try #require(begin(1, here, in: &lanes))
        #expect(begin(2, here, in: &lanes) == nil)
        #expect(begin(3, here, in: &lanes) == nil)
        #expect(begin(4, there, in: &lanes) != nil)
        #expect(lanes.release(session).next == 2)
        #expect(lanes.release(session).next == 3)
        #expect(lanes.release(session).next == nil)
        #expect(begin(5, here, in: &lanes) === session)
    }

    @Test("A few idle sessions are kept; those of other origins are released first")
    func surplus() throws {
        var lanes = Lanes(maxPerOrigin: 100)
        let old = try #require(begin(0, there, in: &lanes))
        let sessions = (1...33).compactMap { begin($0, here, in: &lanes) }
        try #require(sessions.count == 33)
        #expect(lanes.release(old).surplus == nil)
        for session in sessions.prefix(31) { #expect(lanes.release(session).surplus == nil) }
        #expect(lanes.release(sessions[31]).surplus === old)
        #expect(lanes.release(sessions[32]).surplus === sessions[0])
        #expect(lanes.removeAll().sessions.count == 32)
    }

    @Test("An unknown session is ignored, and the end releases all")
    func end() throws {
        var lanes = Lanes(maxPerOrigin: 1)
        let unknown = lanes.release(Session())
        #expect(unknown.next == nil && unknown.surplus == nil)
        let session = try #require(begin(1, here, in: &lanes))
        _ = begin(2, here, in: &lanes)
        let rest = lanes.removeAll()
        #expect(rest.sessions.count == 1 && rest.sessions.first === session)
        #expect(rest.inLine == [2])
        // A task may end later.
        let late = lanes.release(session)
        #expect(late.next == nil && late.surplus == nil)
    }
}
