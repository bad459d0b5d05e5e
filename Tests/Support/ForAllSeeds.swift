// SPDX-License-Identifier: Apache-2.0

package import Testing
package import TurnpikeCore

/// Tries a law with many seeds; the first that breaks it is named, and ends the search.
///
/// A law gives nil where it holds, or what broke it. To see a failure again, begin with its seed.
package func forAllSeeds(
    _ runs: UInt64 = Law.runs.upperBound, from first: UInt64 = 0,
    sourceLocation: SourceLocation = #_sourceLocation,
    _ law: (inout SeededGenerator) async throws -> String?
) async throws {
    for seed in first..<first + runs {
        var generator = SeededGenerator(seed: seed)
        if let fault = try await law(&generator) {
            Issue.record("seed \(seed): \(fault)", sourceLocation: sourceLocation)
            return
        }
    }
}

extension SeededGenerator {
    package mutating func int(_ range: ClosedRange<Int>) -> Int { .random(in: range, using: &self) }

    package mutating func bool() -> Bool { .random(using: &self) }

    package mutating func pick<Element>(_ elements: [Element]) -> Element {
        elements[int(0...elements.count - 1)]
    }

    /// Text of random scalars, with a liking for what a grammar uses.
    package mutating func noise(_ pieces: [String], upTo count: Int = 12) -> String {
        (0..<int(0...count)).map { _ in
            switch int(0...5) {
            case 0: String(Unicode.Scalar(UInt8(int(0...255))))
            case 1: Unicode.Scalar(UInt32(int(0...0x10FFFF))).map { String($0) } ?? ""
            default: pick(pieces)
            }
        }.joined()
    }
}
