// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Delays responses of a ``TestServer`` until a test opens it.
public final class TestHold: Sendable {
    private let opened = Atomic(false)

    /// Creates a closed hold.
    public init() {}

    /// Releases the waiting response and all later ones.
    public func open() { opened.store(true, ordering: .releasing) }

    var isOpen: Bool { opened.load(ordering: .acquiring) }
}
