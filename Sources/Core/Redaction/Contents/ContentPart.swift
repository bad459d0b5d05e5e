// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

/// Which part of a whole some content is, by its `Content-Range` (RFC 9110 §14.4).
struct ContentPart {
    /// Whether the part does not begin where the whole begins.
    let beginsWithin: Bool
    /// Whether the part does not end where the whole ends, so that it may end within a secret.
    let isCut: Bool

    /// - Parameter values: The values of the field.
    init(_ values: [String]) {
        // `bytes */1000` tells of no part.
        let numbers = values.filter { !$0.contains("*/") }.map { value in
            value.utf8.split { !Grammar.isDigit($0) }.map {
                UInt64(String(decoding: $0, as: UTF8.self)) ?? .max
            }
        }
        beginsWithin = numbers.contains { ($0.first ?? 0) > 0 }
        isCut = numbers.contains { $0.count < 3 || $0[1] < .max && $0[1] + 1 < $0[2] }
    }
}
