// SPDX-License-Identifier: Apache-2.0

import Tracing
import TurnpikeEssentials

/// Writes the fields of a propagator into the header fields of a request.
struct HeaderInjector: Injector {
    /// Whether a redirect has led the request to another origin.
    var isForeign = false

    /// Sets a field, and replaces the caller's field of that name.
    ///
    /// A field that is not valid HTTP is left out, because baggage may contain anything and must
    /// not make the request fail. After a redirect to another origin, only the fields of W3C Trace
    /// Context are sent. The gate `Redirect` keeps these fields, too.
    func inject(_ value: String, forKey key: String, into headers: inout HTTPHeaders) {
        let name = HTTPHeaders.Name(key)
        if isForeign, name != .traceparent, name != .tracestate { return }
        let field: HTTPHeaders = [name: value]
        if field.defect == nil { headers[name] = value }
    }
}
