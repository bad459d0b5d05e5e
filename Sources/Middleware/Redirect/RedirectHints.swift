// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

/// The reports of the gates inside a redirect about a response.
struct RedirectHints: ContextKey {
    struct Value: Sendable {
        /// How often a cookie jar changed with a redirecting response.
        ///
        /// After a change, the same URL may respond differently.
        var jarChanges = 0
        /// Upgrades a URL whose host requires TLS.
        var upgrade: (@Sendable (Request) -> Request)?
    }

    static var defaultValue: Value { Value() }
}
