// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TurnpikeRedaction

@Suite("Where a secret that was found is hidden")
struct RedactionReachTests {
    private func reach(of value: String, isNamed: Bool) -> SecretIndex.Reach? {
        let search = SecretSearch(SecretRules())
        search.learn(Array(value.utf8), isNamed: isNamed)
        return search.found.first?.1
    }

    @Test(
        "A named secret without digits is hidden as a word from six letters on, anywhere from eight on",
        arguments: [
            ("xyz", nil), ("xyzwv", nil), ("xyzwvu", .words), ("xyzwvut", .words),
            ("xyzwvuts", .anywhere), ("xyzwvutsr", .anywhere),
        ] as [(String, SecretIndex.Reach?)])
    func letters(value: String, reach: SecretIndex.Reach?) {
        #expect(self.reach(of: value, isNamed: true) == reach)
        #expect(self.reach(of: value, isNamed: false) == nil)
    }

    @Test(
        "With a digit, a named secret is hidden as a word from four bytes on, anywhere from six on",
        arguments: [
            ("xy1", nil), ("xyz1", .words), ("xyzw1", .words), ("xyzwv1", .anywhere),
        ] as [(String, SecretIndex.Reach?)])
    func digits(value: String, reach: SecretIndex.Reach?) {
        #expect(self.reach(of: value, isNamed: true) == reach)
    }

    @Test("A value that looks made is hidden, whatever its name, and a number only as a word")
    func made() {
        let letters = String(repeating: "x", count: 23)
        for isNamed in [false, true] {
            #expect(reach(of: "xyzwv1", isNamed: isNamed) == .anywhere)
            #expect(reach(of: letters + "x", isNamed: isNamed) == .anywhere)
            #expect(reach(of: "123456", isNamed: isNamed) == .words)
            #expect(reach(of: "12345", isNamed: isNamed) == nil)
        }
        #expect(reach(of: letters, isNamed: false) == nil)
    }

    @Test(
        "An everyday word, a sentence and a placeholder are never secrets",
        arguments: ["password", "production", "must be set again", "x REDACTED1 y"])
    func common(value: String) {
        #expect(reach(of: value, isNamed: true) == nil)
    }
}
