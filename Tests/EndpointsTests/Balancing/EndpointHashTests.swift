// SPDX-License-Identifier: Apache-2.0

import Testing
import TurnpikeCore

@testable import TurnpikeEndpoints
@testable import TurnpikeMiddleware

@Suite("The choice of an endpoint by hash")
struct EndpointHashTests {
    private static func chooser(_ weights: [Double]) -> Chooser {
        Chooser(weights: weights, .hash(of: "X-Key"))
    }

    @Test("The hash is the same in each process")
    func stable() {
        #expect(EndpointHash.of("") == 0xF52A_15E9_A9B5_E89B)
        #expect(EndpointHash.of("user-1") == 0xC499_B5F8_A721_DF58)
        #expect(EndpointMember.key(of: Chooser.endpoint(7)) == EndpointHash.of("10.0.0.7:8080"))
        var chooser = Self.chooser([1, 1, 1, 1, 1])
        let owners = ["a", "b", "c", "d", "e", "f"].map { key in
            let owner = chooser.owner(of: key)
            return chooser.members.firstIndex { $0.key == owner }
        }
        #expect(owners == [1, 4, 4, 2, 4, 1])
    }

    @Test(
        "Each endpoint gets keys in proportion to its weight",
        arguments: [[1, 1, 1, 1, 1, 1, 1, 1], [1, 2, 3, 1.5, 0.5, 4]])
    func spread(weights: [Double]) {
        var chooser = Self.chooser(weights)
        var counts: [UInt64: Int] = [:]
        for number in 0..<Shares.choices / 6 {
            if let owner = chooser.owner(of: "user-\(number)") { counts[owner, default: 0] += 1 }
        }
        Shares.expect(chooser.members.map { counts[$0.key] ?? 0 }, weights)
    }

    @Test("Only the keys of an endpoint that leaves or comes move", arguments: [5, 20])
    func moves(count: Int) {
        var chooser = Self.chooser([Double](repeating: 1, count: count))
        let keys = (0..<Shares.choices / 20).map { "user-\($0)" }
        let before = keys.map { chooser.owner(of: $0) }
        for lost in [0, count / 2] {
            let left = chooser.members[lost].key
            chooser.use { $0 != lost }
            let after = keys.map { chooser.owner(of: $0) }
            var moved = 0
            for (before, after) in zip(before, after) where before != after {
                moved += 1
                #expect(before == left)
            }
            #expect(!after.contains(left))
            let share = Double(moved) / Double(keys.count)
            #expect(abs(share - 1 / Double(count)) <= 0.01)
        }
        chooser.use { _ in true }
        #expect(keys.map { chooser.owner(of: $0) } == before)
    }

    @Test("A weight that grows moves keys only to its endpoint")
    func heavier() {
        var light = Self.chooser([1, 1, 1, 2])
        var heavy = Self.chooser([1, 1, 3, 2])
        for number in 0..<2000 {
            let (before, after) = (light.owner(of: "\(number)"), heavy.owner(of: "\(number)"))
            #expect(before == after || after == heavy.members[2].key)
        }
    }

    @Test("Retries take the next in the order of the key, which all clients share")
    func order() {
        var first = Self.chooser([1, 1, 1, 1, 1])
        for key in 0..<200 {
            let request = Request(
                .get, "http://users.internal/", headers: ["X-Key": "\(key)"])
            var tried: [UInt64] = []
            var order: [Int] = []
            for _ in 0..<5 {
                guard let member = first.pick(request, avoiding: tried)?.member else { return }
                tried.append(member.key)
                order.append(first.members.firstIndex { $0.key == member.key } ?? -1)
            }
            #expect(Set(order).count == 5)
            // Without the first, the second has the key.
            first.use { $0 != order[0] }
            #expect(first.owner(of: "\(key)") == first.members[order[1]].key)
            first.use { _ in true }
        }
    }

    @Test("A request without a key goes by the requests under way")
    func keyless() {
        var chooser = Self.chooser([1, 1])
        chooser.members[0].begin()
        for _ in 0..<50 { #expect(chooser.pick()?.member.key == chooser.members[1].key) }
    }

    @Test("Neither load nor a slow start moves a key")
    func loaded() {
        var chooser = Self.chooser([1, 1, 1])
        let before = (0..<300).map { chooser.owner(of: "\($0)") }
        for _ in 0..<100 { chooser.members[0].begin() }
        chooser.members[1].startSlowly(at: chooser.now)
        chooser.use { _ in true }
        #expect((0..<300).map { chooser.owner(of: "\($0)") } == before)
    }
}
