// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import Turnpike
import TurnpikeCore
import TurnpikeTesting

@testable import TurnpikeInspection

@Suite("The calculus of bounds")
struct CalculusTests {
    private func worst(_ stack: [[GateEffect]]) -> WorstCase {
        WorstCase.of(
            stack.enumerated().map { .gate(number: $0.offset, variants: [.effects($0.element)]) })
    }

    private func seconds(_ count: Double) -> Amount { Amount(.seconds(count)) }

    private func retries(_ attempts: Int?, _ waits: Duration? = .zero) -> GateEffect {
        .retries(attempts: attempts, waits: waits, repeatsUnsafe: false)
    }

    private let timeout = GateEffect.limitsTime(.seconds(10), .head)

    @Test("The transport alone sends once, and may take any time")
    func transport() {
        let worst = worst([])
        #expect(worst.sends.inOneCall == Amount(1 as Int64))
        #expect(worst.head.inOneCall == .unbounded)
        #expect(worst.waiting.inOneCall == Amount(0 as Int64))
    }

    @Test("A limit inside a retry counts for each attempt, and one outside for all")
    func limits() {
        // Each of the three responses that are given up is read for 100 ms.
        #expect(worst([[retries(3, .seconds(4))], [timeout]]).head.inOneCall == seconds(34.3))
        #expect(worst([[timeout], [retries(3, .seconds(4))]]).head.inOneCall == seconds(10))
        #expect(worst([[timeout], [retries(3, .seconds(4))]]).waiting.inOneCall == seconds(4))
        #expect(worst([[timeout], [retries(3, .seconds(40))]]).waiting.inOneCall == seconds(10))
    }

    @Test("Nested retries share the limit of sends")
    func nesting() {
        let worst = worst([[retries(4)], [retries(6)], [timeout]])
        #expect(worst.sends.inOneCall == Amount(12 as Int64))
        #expect(worst.sends.free == Amount(24 as Int64))
        // 12 sends of 10 s, and 28 responses that are discarded at most: what fails without a send
        // is counted too.
        let head = worst.head.inOneCall
        #expect(head >= seconds(120) && head <= seconds(123))
    }

    @Test("Redirects give their sends back")
    func redirects() {
        let worst = worst([[.redirects(hops: 10)], [retries(3)]])
        #expect(worst.sends.inOneCall == Amount(22 as Int64))
        #expect(self.worst([[.redirects(hops: 10)]]).sends.inOneCall == Amount(11 as Int64))
        let behind = self.worst([[retries(14)], [.redirects(hops: 10)]])
        // The hops of a pass whose last request is refused inside cost the limit nothing.
        #expect(behind.sends.inOneCall == Amount(152 as Int64))
    }

    @Test("Redirects from a store give back what was not taken")
    func storedRedirects() {
        let plain = worst([[.redirects(hops: 2)], [retries(14)]])
        let stored = worst([[.redirects(hops: 2)], [.answers(.stored)], [retries(14)]])
        #expect(plain.sends.inOneCall == Amount(14 as Int64))
        #expect(stored.sends.inOneCall == Amount(15 as Int64))
    }

    @Test("Copies run beside each other, and begin only while others do")
    func hedges() {
        let hedge = GateEffect.hedges(copies: 2, after: .seconds(3))
        let worst = worst([[hedge], [timeout]])
        #expect(worst.sends.inOneCall == Amount(3 as Int64))
        #expect(worst.head.inOneCall == seconds(16))
        let learned = self.worst([[.hedges(copies: 2, after: nil)], [timeout]])
        #expect(learned.head.inOneCall == seconds(30))
    }

    @Test("A wait inside a replay counts twice, and one outside once")
    func replays() {
        let wait = GateEffect.waits(atMost: .seconds(1), reason: "a token")
        #expect(worst([[.replays(times: 1), wait]]).waiting.inOneCall == seconds(2))
        #expect(worst([[wait, .replays(times: 1)]]).waiting.inOneCall == seconds(1))
        #expect(worst([[.waits(atMost: nil, reason: "x")]]).waiting.inOneCall == .unbounded)
        let store = GateEffect.sharesState(.counts, isHidden: nil, atMost: .seconds(1))
        #expect(worst([[retries(3)], [store]]).waiting.inOneCall == seconds(3))
    }

    @Test("Who reads content before passing it on is as late as the content")
    func reading() {
        let body = GateEffect.limitsTime(.seconds(5), .body)
        let head = GateEffect.limitsTime(.seconds(1), .head)
        #expect(worst([[head], [body]]).head.inOneCall == seconds(1))
        #expect(worst([[.readsContent(upTo: 9)], [head], [body]]).head.inOneCall == seconds(5))
        #expect(worst([[.readsContent(upTo: 9)], [head]]).head.inOneCall == .unbounded)
    }

    @Test("A call may wait for an exchange of another one, and then make its own")
    func sharing() {
        let body = GateEffect.limitsTime(.seconds(5), .body)
        let worst = worst([[.answers(.shared)], [body]])
        #expect(worst.whole.inOneCall == seconds(10))
        #expect(worst.waiting.inOneCall == seconds(5))
        #expect(worst.sends.inOneCall == Amount(1 as Int64))
    }

    @Test("A retry without a number of attempts ends with the sends, if failing takes no time")
    func endless() {
        let worst = worst([[retries(nil)], [timeout]])
        #expect(worst.sends.inOneCall == Amount(12 as Int64))
        #expect(worst.sends.free == .unbounded)
        // What is refused without a send may be refused for ever.
        #expect(worst.head.inOneCall == .unbounded)
    }

    @Test("A hedge holds memory for each copy")
    func memory() {
        let worst = worst([
            [.hedges(copies: 2, after: nil), .holdsDisk(atMost: 1)], [.holdsMemory(atMost: 10)],
        ])
        #expect(worst.memory == Amount(30 as Int64))
        #expect(self.worst([[.holdsMemory(atMost: nil)]]).memory == .unbounded)
    }

    @Test("Amounts are ordered, and never overflow")
    func amounts() {
        let most = Amount(Int64.max - 2)
        #expect(most.value == Int64.max - 2)
        #expect(most + Amount(1 as Int64) == .unbounded)
        #expect(Amount(5 as Int64) < .unknown && .unknown < .unbounded)
        #expect(Amount(Duration.nanoseconds(1) / 2) == Amount(1 as Int64))
        #expect(Amount(-5 as Int64) == Amount(0 as Int64))
        #expect(Amount.unknown + .unbounded == .unbounded)
        #expect(Amount(3 as Int64).times(.max) == .unbounded)
        #expect(Amount.unbounded.times(0) == Amount(0 as Int64))
    }
}
