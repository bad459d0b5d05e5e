// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Binary property lists that no writer makes.
enum BinaryList {
    /// A list that holds one text so many times: a reference of a byte stands for all of it.
    static func repeating(textBytes: Int, times: Int) -> Data {
        let list = collection(0xAF, Array(repeating: 1, count: times), width: 1)
        let text = [0x5F] + long(textBytes) + Array(repeating: UInt8(ascii: "x"), count: textBytes)
        return file([list, text], width: 1)
    }

    /// Lists that all stand at one place of the file, and refer to each other.
    static func sharingPlaces(_ size: Int) -> Data {
        let count = size / 12
        let outer = collection(0xAF, (1...count).map { $0 }, width: 4)
        let inner = collection(0xAF, Array(repeating: count + 1, count: count), width: 4)
        return file(
            [outer, inner, [0x09]], width: 4,
            places: [0] + Array(repeating: 1, count: count) + [2])
    }

    private static func collection(_ mark: UInt8, _ references: [Int], width: Int) -> [UInt8] {
        [mark] + long(references.count) + references.flatMap { big($0, width) }
    }

    private static func long(_ number: Int) -> [UInt8] { [0x12] + big(number, 4) }

    private static func big(_ number: Int, _ width: Int) -> [UInt8] {
        (0..<width).reversed().map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }

    private static func file(_ objects: [[UInt8]], width: Int, places: [Int]? = nil) -> Data {
        var bytes = Array("bplist00".utf8)
        var starts: [Int] = []
        for object in objects {
            starts.append(bytes.count)
            bytes += object
        }
        let table = bytes.count
        let places = places ?? Array(objects.indices)
        for place in places { bytes += big(starts[place], 4) }
        bytes +=
            [0, 0, 0, 0, 0, 0, 4, UInt8(width)] + big(places.count, 8) + big(0, 8) + big(table, 8)
        return Data(bytes)
    }
}
