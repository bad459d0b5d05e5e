// SPDX-License-Identifier: Apache-2.0

import Tracing
import TurnpikeEssentials

/// Writes the fields of a propagator into header fields.
struct HeaderInjector: Injector {
    /// Whether a redirect has led the request to another origin.
    var isForeign = false

    /// Sets a field, in place of what the caller has set.
    ///
    /// A field that is not valid HTTP is left out: baggage may hold anything, and must not make the
    /// request fail. After a redirect to another origin, only the fields of W3C Trace Context are
    /// sent, which the gate `Redirect` keeps as well.
    func inject(_ value: String, forKey key: String, into headers: inout HTTPHeaders) {
        let name = HTTPHeaders.Name(key)
        if isForeign, name != .traceparent, name != .tracestate { return }
        let field: HTTPHeaders = [name: value]
        if field.defect == nil { headers[name] = value }
    }
}
