// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeSupport

/// The names of a server's keys for shared state: `turnpike:{<key>}:<part>`.
///
/// What stands in braces decides which node of a cluster has a key (its hash tag), so all parts of
/// one key are on one node.
enum SharedKey {
    // Longer ones are replaced by their digest, because a server keeps each name in memory.
    private static let longest = 200

    /// The name of one part of the state of a key.
    static func name(_ key: String, _ part: String) -> String { "turnpike:{\(tag(key))}:\(part)" }

    /// Text for a hash tag, another one for each key; it has no braces and is not empty.
    private static func tag(_ key: String) -> String {
        if key.utf8.count > longest {
            return "%#" + SHA256.digest(of: Data(key.utf8)).hexadecimal
        }
        if key.isEmpty { return "%" }
        guard key.utf8.contains(where: { "{}%".utf8.contains($0) }) else { return key }
        var tag = ""
        for scalar in key.unicodeScalars {
            switch scalar {
            case "{": tag += "%7B"
            case "}": tag += "%7D"
            case "%": tag += "%25"
            default: tag.unicodeScalars.append(scalar)
            }
        }
        return tag
    }
}
