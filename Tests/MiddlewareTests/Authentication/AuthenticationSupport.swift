// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import TurnpikeSupport

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

extension MockTransport {
    /// The values of `Authorization` that were sent, in order; a bare request gives "-".
    var authorizations: [String] { sent.map { $0.request.headers[.authorization] ?? "-" } }
}

/// A body that can be sent once.
func oneShot(_ text: String) -> RequestBody {
    .stream { AsyncStream([Data(text.utf8)]) }
}

extension OneShot {
    /// Waits without an end, and hears of no cancellation.
    func never() async { _ = try? await value {} }
}
