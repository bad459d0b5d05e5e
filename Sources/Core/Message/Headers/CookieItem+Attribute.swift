// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

extension CookieItem {
    /// Whether the name is that of an attribute (RFC 6265 §4.1.1, and later additions of browsers).
    var isAttribute: Bool { Self.attributes.contains(name.utf8) }

    private static let attributes = WordSet(
        "expires max-age domain path secure httponly samesite partitioned priority")
}
