// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import TurnpikeSupport

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

extension OneShot {
    /// Waits without an end, and hears of no cancellation.
    func never() async { _ = try? await value {} }
}
