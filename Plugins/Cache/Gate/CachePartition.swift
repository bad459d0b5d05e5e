// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The part of a store that a cache uses.
enum CachePartition {
    /// Each client has its own where something inside may prove who it is; all others have one.
    case unnamed
    /// Caches with the same name have it in common.
    case named(String)
    /// It was named by an empty text, so that nobody knows for whom responses are.
    case missing

    init(_ name: String?) {
        guard let name = name.map({ Grammar.trimmed($0) }) else {
            self = .unnamed
            return
        }
        self = name.isEmpty ? .missing : .named(Digest.text("partition\0" + name))
    }

    /// The partition for a call; nil if there is none.
    func name(for call: CallID, _ next: Next) -> String? {
        switch self {
        case .unnamed:
            // A new stack may prove another account.
            next.provesClient
                ? "client " + String(call.client, radix: 16) + "-\(next.generation)" : "anyone"
        case .named(let name): name
        case .missing: nil
        }
    }

    var isMissing: Bool { if case .missing = self { true } else { false } }
}
