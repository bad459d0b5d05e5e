// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCache
import TurnpikeCore
import TurnpikeSupport
import TurnpikeValkey

/// The names of a cache key and of variants on a server.
struct StoreKey: Sendable {
    /// The hash of the entries; the digest is the hash tag that it shares with the claim.
    let name: String
    /// Finds all entries of the key.
    let lookUp: ValkeyCommand

    /// Who fetches what is not there.
    var claim: String { name + ":claim" }

    /// How the field of each variant begins.
    static let variantMark = UInt8(ascii: "v")

    init(_ key: CacheKey, prefix: String) {
        var hash = SHA256()
        // Each part with its length, so that no two keys have the same bytes.
        for part in [key.method.rawValue, key.url, key.partition.map { "-" + $0 } ?? ""] {
            hash.update(Data("\(part.utf8.count):\(part)".utf8))
        }
        name = "\(prefix):{\(hash.finalize().prefix(16).hexadecimal)}"
        lookUp = ValkeyCommand("HGETALL", name, key: name).prepared
    }

    /// The field of a variant; as short as `Data` needs it to take no memory of its own.
    static func field(_ variant: Variant) -> Data {
        if variant.fields.isEmpty { return Data("v".utf8) }
        var hash = SHA256()
        for field in variant.fields {
            let value = field.value ?? ""
            hash.update(Data("\(field.name.utf8.count):\(field.name)".utf8))
            hash.update(Data("\(field.value == nil ? -1 : value.utf8.count):\(value)".utf8))
        }
        let digest = hash.finalize().prefix(8).base64EncodedString()
        return Data("v\(digest.prefix { $0 != "=" })".utf8)
    }
}
