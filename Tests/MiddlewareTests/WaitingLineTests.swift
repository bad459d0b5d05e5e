// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TurnpikeMiddleware

@Suite("WaitingLine")
struct WaitingLineTests {
    @Test("Waiters that leave behind one that waits for ever leave nothing")
    func leaving() {
        var line = WaitingLine()
        line.append(Waiter(ticket: 0))
        var left = 0
        for ticket in 1...10_000 as ClosedRange<UInt64> {
            line.append(Waiter(ticket: ticket))
            if line.remove(ticket) { left += 1 }
        }
        #expect(left == 10_000)
        #expect(line.placeCount < 100)
        let (hasLeftAgain, hasLeft) = (line.remove(5000), line.remove(0))
        #expect(!hasLeftAgain && hasLeft)
        #expect(line.placeCount == 0)
    }

    @Test("Places that are given up change nobody's turn")
    func order() {
        var line = WaitingLine()
        for ticket in 0..<1000 as Range<UInt64> { line.append(Waiter(ticket: ticket)) }
        for ticket in 0..<1000 as Range<UInt64> where ticket % 10 != 3 { _ = line.remove(ticket) }
        line.append(Waiter(ticket: 1000))
        var tickets: [UInt64] = []
        while let ticket = line.firstTicket, line.remove(ticket) { tickets.append(ticket) }
        let expected: [UInt64] = Array(stride(from: 3, to: 1000, by: 10)) + [1000]
        #expect(tickets == expected)
    }
}
