// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeCore

/// One permit, which is returned once.
final class Permit: Sendable {
    private let permits: Permits
    private let origin: Origin
    private let isGivenBack = Atomic(false)

    init(_ permits: Permits, _ origin: Origin) {
        self.permits = permits
        self.origin = origin
        permits.tell(of: origin)
    }

    // Returns the permit even if a gate outside drops the response.
    deinit { giveBack() }

    func giveBack() {
        if !isGivenBack.exchange(true, ordering: .acquiringAndReleasing) {
            permits.giveBack(origin)
            permits.tell(of: origin)
        }
    }
}
