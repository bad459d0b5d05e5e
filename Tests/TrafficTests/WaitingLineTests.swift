// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TurnpikeMiddleware
@testable import TurnpikeTraffic

@Suite("WaitingLine")
struct WaitingLineTests {
    private var line = WaitingLine()
    private var tickets: UInt64 = 0

    private mutating func append(
        _ criticality: Criticality = .default, _ key: String? = nil
    ) -> WaitingLine.Rank {
        let precedence = Precedence(criticality: criticality, key: key)
        let rank = line.rank(tickets, precedence)
        tickets += 1
        line.append(Waiter(rank, precedence))
        return rank
    }

    private mutating func serve(_ count: Int = 1) -> [UInt64] {
        (0..<count).compactMap { _ in
            line.first.flatMap { line.serve($0.rank) }?.rank.ticket
        }
    }

    @Test("Waiters that leave behind one that waits for ever leave nothing")
    mutating func leaving() {
        let first = append()
        var left: [WaitingLine.Rank] = []
        for _ in 1...10_000 {
            let rank = append()
            if line.remove(rank) != nil { left.append(rank) }
        }
        #expect(left.count == 10_000)
        #expect(line.placeCount < 100)
        #expect(line.remove(left[5000]) == nil)
        #expect(line.remove(first) != nil)
        #expect(line.placeCount == 0 && line.isEmpty)
    }

    @Test("Places that are given up change nobody's turn")
    mutating func order() {
        let ranks = (0..<1000).map { _ in append() }
        for rank in ranks where rank.ticket % 10 != 3 { _ = line.remove(rank) }
        _ = append()
        let expected: [UInt64] = Array(stride(from: 3, to: 1000, by: 10)) + [1000]
        #expect(serve(200) == expected)
    }

    @Test("Higher classes go first, and the 20th turn is that of the one that has waited longest")
    mutating func classes() {
        _ = append(.sheddable)
        _ = append()
        for _ in 0..<30 { _ = append(.critical) }
        #expect(serve(22) == Array(2...20) + [0, 21, 22])
        #expect(line.last?.rank.ticket == 1)
    }

    @Test("Keys have turns in rotation, and who comes later joins the present round")
    mutating func keys() {
        for key in ["a", "a", "a", "a", "b"] { _ = append(.default, key) }
        #expect(serve(2) == [0, 4])
        _ = append(.default, "c")
        _ = append(.default, "c")
        // The second round is that of `a` and `c`.
        #expect(serve(5) == [1, 5, 2, 6, 3])
        #expect(line.isEmpty)
    }

    @Test("Of a full line the last turn of the longest backlog is given up")
    mutating func last() {
        for key in ["a", "a", "a", "b"] { _ = append(.default, key) }
        #expect(line.last?.rank.ticket == 2)
        let other = line.rank(4, Precedence(key: "c"))
        #expect(line.last.map { other < $0.rank } == true)
        let same = line.rank(4, Precedence(key: "a"))
        #expect(line.last.map { $0.rank < same } == true)
    }

    @Test("Keys that no longer wait are forgotten, though the line is never empty")
    mutating func forgetting() {
        for number in 0..<10_000 {
            let rank = append(.default, "\(number)")
            if number % 2 == 0 { _ = line.remove(rank) }
            if number > 20, number % 2 == 1 { _ = serve() }
        }
        #expect(!line.isEmpty && line.keyCount < 200)
    }
}
