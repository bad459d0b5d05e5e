// SPDX-License-Identifier: Apache-2.0

/// Whether the response body may last indefinitely, as an event stream does.
///
/// A deadline then covers only the time up to the response head, and idle limits do not apply.
package enum StreamingOption: RequestOptionKey {
    /// The decision of the caller.
    package typealias Value = Bool
}

extension RequestOptions {
    /// Whether the response body may last indefinitely.
    public var isStreaming: Bool {
        get { self[StreamingOption.self] ?? false }
        set { self[StreamingOption.self] = newValue }
    }
}
