// SPDX-License-Identifier: Apache-2.0

import Testing
import TurnpikeSupport

@testable import TurnpikeCore

@Suite("NearMiss")
struct NearMissTests {
    private let names = ["retry", "redirect", "deadline", "log"]

    @Test(
        "A name that is near enough is suggested",
        arguments: [
            ("retyr", "retry"), ("RETRY", "retry"), ("rety", "retry"),
            ("redirct", "redirect"), ("deadlne", "deadline"), ("lgo", "log"), ("logg", "log"),
            ("dealdine", "deadline"), ("erdirect", "redirect"),
        ])
    func near(name: String, expected: String) {
        #expect(NearMiss.hint(for: name, among: names) == "; did you mean \"\(expected)\"?")
    }

    @Test(
        "If no name is near, all allowed names are listed",
        arguments: ["cache", "x", "", "deadbeef0000"])
    func far(name: String) {
        #expect(
            NearMiss.hint(for: name, among: names) == "; allowed: deadline, log, redirect, retry")
    }

    @Test("If no name is allowed, nothing is listed")
    func nothing() { #expect(NearMiss.hint(for: "x", among: [String]()) == "") }

    @Test("A name of any length takes little time")
    func long() {
        let name = String(repeating: "retry", count: 1_000_000)
        #expect(NearMiss.hint(for: name, among: [name + "x", "retry"]) != "")
        // One character, of a million bytes.
        let marked = "r" + String(repeating: "\u{301}", count: 500_000)
        #expect(NearMiss.hint(for: marked, among: names).hasPrefix("; allowed:"))
    }
}
