// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// The reports of the gates inside a redirect about a response.
struct RedirectHints: ContextKey {
    struct Value: Sendable {
        /// The number of changes of a cookie jar by redirecting responses.
        ///
        /// After a change, the same URL may respond differently.
        var jarChanges = 0
        /// Upgrades a URL whose host requires TLS.
        var upgrade: (@Sendable (Request) -> Request)?
    }

    static var defaultValue: Value { Value() }
}
