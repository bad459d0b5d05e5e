// SPDX-License-Identifier: Apache-2.0

import Testing

import TurnpikeTraffic
@testable import TurnpikeMiddleware
@testable import TurnpikeValkey

@Suite("Names of shared state")
struct SharedKeyTests {
    @Test(
        "A key stands in the hash tag, without braces of its own",
        arguments: [
            ("https://a.example:443", "turnpike:{https://a.example:443}:lock"),
            ("a{b}c%7B", "turnpike:{a%7Bb%7Dc%257B}:lock"), ("", "turnpike:{%}:lock"),
            ("é 世", "turnpike:{é 世}:lock"), ("%", "turnpike:{%25}:lock"),
        ])
    func names(key: String, name: String) {
        #expect(SharedKey.name(key, "lock") == name)
    }

    @Test("A long key becomes its digest")
    func long() {
        let name = SharedKey.name(String(repeating: "a", count: 201), "lock")
        let digest = "a92efd82109373e58f9a2056dee01e807e216ce6075f7051207c0a9f7d666e50"
        #expect(name == "turnpike:{%#\(digest)}:lock")
        #expect(SharedKey.name(String(repeating: "a", count: 200), "lock").utf8.count == 216)
    }

    @Test("A rule is found by what it is, and by a digest if its limit's name is long or no word")
    func rules() {
        let rule = QuotaRule(10, per: .seconds(1), burst: 5)
        let name = "turnpike:{k}:quota:10.0/1000000000/5.0"
        #expect(SharedKey.name("k", rule) == name)
        #expect(SharedKey.name("k", rule.identified(by: "/search")) == name + "/search")
        let odd = ["/a b", "/a\nb", "/é", "/" + String(repeating: "a", count: 200)].map {
            SharedKey.name("k", rule.identified(by: $0))
        }
        #expect(Set(odd).count == odd.count)
        #expect(odd.allSatisfy { $0.hasPrefix("turnpike:{k}:quota:#") && $0.utf8.count == 84 })
    }
}
