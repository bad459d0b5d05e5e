// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeMiddleware
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

    /// The name of the state of one rule.
    static func name(_ key: String, _ rule: QuotaRule) -> String {
        let identity = rule.identity
        // A name of a user's may have any text, and a server names its keys in errors.
        let isPlain =
            identity.utf8.count <= longest
            && identity.utf8.allSatisfy { (0x21...0x7E).contains($0) }
        return name(
            key,
            "quota:"
                + (isPlain ? identity : "#" + SHA256.digest(of: Data(identity.utf8)).hexadecimal))
    }

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
