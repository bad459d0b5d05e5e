// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// The owner of a quota or cool-down: an origin, and perhaps an account there.
struct QuotaKey: Hashable, Sendable, CustomStringConvertible {
    /// The origin; nil for all origins together.
    let origin: Origin?
    /// The part of the origin, such as an account.
    var part: String?

    /// The key under which a group of replicas keeps it in a store.
    func text(in group: String) -> String { "\(group)|\(text(part))" }

    /// The origin and the part, for people.
    ///
    /// The part may come from a peer and be long.
    var description: String {
        text(part.map { $0.count > 64 ? "\($0.prefix(64))…" : $0 })
    }

    private func text(_ part: String?) -> String {
        let name = origin?.description ?? "all origins"
        return part.map { "\(name) (\($0))" } ?? name
    }
}
