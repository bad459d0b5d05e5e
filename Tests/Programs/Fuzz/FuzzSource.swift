// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike

/// Lines of `exec`, bent at random.
struct FuzzSource {
    private var random: SeededGenerator

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    /// The next line, without its end.
    mutating func next() -> Data {
        var line = Data(pick(FuzzSeeds.lines).utf8)
        if chance(0.4), let value = try? JSONValue(parsing: line) {
            line = bent(value, depth: 0).data()
        }
        if chance(0.5) {
            for _ in 0...Int.random(in: 0...2, using: &random) { bend(&line) }
        }
        return harmless(line)
    }

    private mutating func pick<Element>(_ list: [Element]) -> Element {
        list[Int.random(in: list.indices, using: &random)]
    }

    private mutating func chance(_ part: Double) -> Bool {
        Double.random(in: 0..<1, using: &random) < part
    }

    // MARK: Values

    private mutating func bent(_ value: JSONValue, depth: Int) -> JSONValue {
        if depth > 0, chance(0.03) { return odd() }
        switch value {
        case .object(let members):
            var pairs: [(String, JSONValue)] = []
            for member in members where !chance(0.02) {
                let name = chance(0.01) ? pick(FuzzSeeds.names) : member.name
                pairs.append((name, bent(member.value, depth: depth + 1)))
            }
            if chance(0.05) { pairs.append((pick(FuzzSeeds.names), odd())) }
            return .object(JSONObject(pairs))
        case .array(let elements):
            var elements = elements.map { bent($0, depth: depth + 1) }
            if chance(0.05), let element = elements.randomElement(using: &random) {
                elements.append(element)
            }
            if chance(0.05) { elements.shuffle(using: &random) }
            return .array(elements)
        default: return value
        }
    }

    private mutating func odd() -> JSONValue {
        let text = pick(FuzzSeeds.oddities)
        return (try? JSONValue(parsing: Data(text.utf8))) ?? .string(text)
    }

    // MARK: Bytes

    private mutating func bend(_ line: inout Data) {
        let (low, high) = (place(in: line), place(in: line))
        let range = min(low, high)..<min(max(low, high), min(low, high) + 60)
        switch Int.random(in: 0..<9, using: &random) {
        case 0: if low < line.count { line[low] ^= 1 << UInt8.random(in: 0..<8, using: &random) }
        case 1: line.insert(UInt8.random(in: 0...255, using: &random), at: low)
        case 2: line.removeSubrange(range)
        case 3: line.insert(contentsOf: Data(line[range]), at: low)
        case 4: line = line.prefix(low)
        case 5: line.replaceSubrange(range, with: Data(pick(FuzzSeeds.oddities).utf8))
        case 6: line.insert(contentsOf: Data(pick(FuzzSeeds.oddities).utf8), at: low)
        case 7: line.append(contentsOf: Data(pick(FuzzSeeds.lines).utf8))
        default:
            line = Data(
                (0..<Int.random(in: 0..<200, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                })
        }
        line = Data(line)
    }

    private mutating func place(in line: Data) -> Int {
        Int.random(in: 0...line.count, using: &random)
    }

    // No line breaks, which would make two lines of one; no times and counts that take long for
    // good reason; no paths out of the folder.
    private func harmless(_ line: Data) -> Data {
        var bytes: [UInt8] = []
        var digits = 0
        func endNumber() {
            if (2...9).contains(digits) { bytes.removeLast(digits - 1) }
            digits = 0
        }
        for byte in line {
            if (0x30...0x39).contains(byte) { digits += 1 } else { endNumber() }
            let last = bytes.last
            if byte == UInt8(ascii: "/"), last == UInt8(ascii: "\"") { continue }
            if byte == UInt8(ascii: "."), last == UInt8(ascii: ".") { continue }
            bytes.append(byte == 0x0A ? 0x20 : byte)
        }
        endNumber()
        return Data(bytes)
    }
}
