// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// The owner of a quota or of a cool-down: an origin, and perhaps an account of that origin.
public struct QuotaKey: Hashable, Sendable, CustomStringConvertible {
    /// The origin; nil for all origins together.
    public let origin: Origin?
    /// The part of the origin, such as an account.
    public let part: String?

    init(origin: Origin?, part: String? = nil) {
        self.origin = origin
        self.part = part
    }

    /// The whole key as text, however long; a store keeps the quota under it.
    public var text: String { text(part) }

    /// The origin and the part, for people; a long part is cut.
    public var description: String {
        text(part.map { $0.count > 64 ? "\($0.prefix(64))…" : $0 })
    }

    private func text(_ part: String?) -> String {
        let name = origin?.description ?? "all origins"
        return part.map { "\(name) (\($0))" } ?? name
    }
}
