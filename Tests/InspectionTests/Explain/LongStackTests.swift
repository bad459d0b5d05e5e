// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeCore
import TurnpikeInspection
import TurnpikeTesting

@Suite("Explanations of long stacks", .timeLimit(.minutes(1)))
struct LongStackTests {
    private let get = Request(.get, anywhere)
    private let mock = MockTransport([])

    private func explain(retries count: Int) -> StackExplanation {
        Stack(Array(repeating: Retry(), count: count)).explain(get, on: mock)
    }

    private func forms(_ explanation: StackExplanation) -> [String] {
        [
            explanation.description, "\(explanation.json)", explanation.mermaid, explanation.svg,
        ]
    }

    @Test("Up to 100 gates, the bounds name their gates")
    func full() {
        let worst = explain(retries: 100).worst
        #expect(worst.extent == .full)
        #expect(worst.sends.limit == .atMost(12))
        // No single gate makes a difference: three of the others reach the limit of sends.
        #expect(worst.sends.places.count == 1)
        #expect(worst.memory.places.count == 100)
    }

    @Test("Beyond 100 gates, the bounds are computed, and nobody says whose they are")
    func limits() {
        for count in [101, 1000] {
            let explanation = explain(retries: count)
            let worst = explanation.worst
            #expect(worst.extent == .limits)
            #expect(worst.sends.limit == .atMost(12))
            #expect(worst.sends.framework == "12 sends, not counting redirects")
            #expect(worst.sends.places.isEmpty && worst.memory.places.isEmpty)
            #expect(worst.time.limit == .unbounded)
            // Nothing says that no gate has a part in it.
            for form in forms(explanation) {
                #expect(
                    form.contains("for more than 100 gates"))
                #expect(!form.contains("no gate bounds this") && !form.contains("no gate adds"))
            }
        }
    }

    @Test("The gates of groups count")
    func groups() {
        let group = Group(Stack(Array(repeating: Retry(), count: 100)))
        #expect(Stack([group]).explain(get, on: mock).worst.extent == .limits)
    }

    @Test("Beyond 1,000 gates, no bounds are computed, and the gates are explained")
    func nothing() {
        let explanation = explain(retries: 3000)
        let worst = explanation.worst
        #expect(worst.extent == .nothing)
        #expect(worst.sends.limit == .unknown && worst.sends.framework == nil)
        #expect(worst.time.limit == .unknown && worst.disk.limit == .unknown)
        #expect(explanation.gates.count == 3000)
        #expect(explanation.gates.last?.runs == .perAttempt)
        for form in forms(explanation) {
            #expect(form.contains("not computed for a stack of more than 1,000 gates"))
        }
        #expect(explanation.json["worst"]?["sends"]?["limit"] == "unknown")
    }

    @Test("A picture has room for the lines of many gates that send again")
    func picture() {
        let svg = explain(retries: 60).svg
        #expect(svg.contains("60  Retry"))
        #expect(svg.components(separatedBy: "class=\"lane\"").count == 61)
        // Each box has a width.
        #expect(!svg.contains("width=\"-"))
    }
}
