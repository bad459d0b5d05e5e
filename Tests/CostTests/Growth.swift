// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

/// An input that costs as much as any other of its size, and what reads it.
///
/// The cost of four times as many bytes must be about four times the cost: ten times is allowed,
/// where time that grows with the square of the size would take sixteen. What is counted is the time
/// that one thread works, the least of three runs, and a row may try three times, so that nothing
/// else that the machine does decides.
struct Hostile: Sendable, CustomTestStringConvertible {
    /// Makes content of about a size.
    typealias Maker = @Sendable (_ size: Int) throws -> Data

    let testDescription: String
    /// Does the work of reading an input of so many bytes, and returns the time that this took.
    let read: @Sendable (_ size: Int) async throws -> Duration
    let size: Int

    /// Creates a row.
    /// - Parameters:
    ///   - name: The parser and the input.
    ///   - size: The size of the smallest input in bytes; its cost is to be some milliseconds.
    ///   - make: Makes the input, which is not timed.
    ///   - read: Reads it; what it throws is not of interest.
    init<Input>(
        _ name: String, size: Int = 20_000, make: @escaping @Sendable (_ size: Int) throws -> Input,
        read: @escaping @Sendable (Input) throws -> Void
    ) {
        testDescription = name
        self.size = Self.size(size)
        self.read = { size in
            let input = try make(size)
            return ThreadTime.of { try? read(input) }.time
        }
    }

    /// Creates a row whose reading suspends: it runs on a thread of its own, with all its tasks.
    init<Input: Sendable>(
        _ name: String, size: Int = 20_000, make: @escaping @Sendable (_ size: Int) throws -> Input,
        reading: @escaping @Sendable (Input, Simulation) async throws -> Void
    ) {
        testDescription = name
        self.size = Self.size(size)
        self.read = { size in
            let input = try make(size)
            return try await Simulation(seed: 1).run { simulation in
                let begin = ThreadTime.now
                try? await reading(input, simulation)
                return ThreadTime.now - begin
            }
        }
    }

    /// A quarter in a short run, which tells the square still.
    private static func size(_ whole: Int) -> Int { Runs.size(whole / 4, all: whole) }

    private static let allowed = 10.0
    // What is faster than this is not told from the clock's own steps.
    private static let shortest = Duration.microseconds(300)

    /// Checks that the cost grows with the size, and not with its square.
    func check() async throws {
        var factors: [Double] = []
        // Most rows are told in one go.
        var tries = 1
        for _ in 0..<3 {
            let small = max(try await least(of: size, tries), Self.shortest)
            let twice = try await least(of: 2 * size, tries)
            // What would take minutes is told without them.
            if twice > .seconds(5), twice / small > 3 { return fail([twice / small * 4]) }
            let large = try await least(of: 4 * size, tries)
            if large / small <= Self.allowed { return }
            factors.append(large / small)
            tries = 3
        }
        fail(factors)
    }

    private func fail(_ factors: [Double]) {
        Issue.record(
            "\(testDescription): four times a size of \(size) cost \(factors.map { Int($0) }) times as much"
        )
    }

    private func least(of size: Int, _ tries: Int) async throws -> Duration {
        var least = try await read(size)
        for _ in 1..<max(tries, 1) where least < .seconds(2) {
            least = min(least, try await read(size))
        }
        return least
    }
}

extension Hostile {
    /// A text that is repeated to about a size.
    static func text(_ unit: String, _ size: Int) -> String {
        String(repeating: unit, count: max(size / unit.utf8.count, 1))
    }

    /// The bytes of a text that is repeated to about a size, between others.
    static func data(_ before: String, _ unit: String, _ after: String, _ size: Int) -> Data {
        Data((before + text(unit, size) + after).utf8)
    }

    /// The bytes of a text that is repeated to about a size.
    static func data(_ unit: String, _ size: Int) -> Data { data("", unit, "", size) }

    /// Numbered texts up to about a size.
    static func numbered(_ size: Int, _ unit: (Int) -> String) -> String {
        var text = ""
        var number = 0
        while text.utf8.count < size {
            text += unit(number)
            number += 1
        }
        return text
    }

    /// Spellings of one name that are the same characters and other bytes, up to about a size.
    static func spellings(_ size: Int) -> [String] {
        let length = 20
        return (0..<max(size / (length * 5 / 2), 1)).map { number in
            (0..<length).map { number >> $0 & 1 == 0 ? "\u{E9}" : "e\u{301}" }.joined()
        }
    }
}
