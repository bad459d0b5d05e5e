// SPDX-License-Identifier: Apache-2.0

import Tracing
import Turnpike

/// Writes what a propagator sends into header fields.
struct HeaderInjector: Injector {
    /// Sets a field, in place of what the caller has set.
    ///
    /// A field that is not valid HTTP is left out: baggage may hold anything, and the request must
    /// not fail for it.
    func inject(_ value: String, forKey key: String, into headers: inout HTTPHeaders) {
        let name = HTTPHeaders.Name(key)
        var valid = HTTPHeaders()
        guard (try? valid.add(name, value)) != nil else { return }
        headers[name] = value
    }
}
