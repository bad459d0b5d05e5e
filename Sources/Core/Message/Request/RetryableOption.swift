// SPDX-License-Identifier: Apache-2.0

/// Whether the request may be sent twice although its method is not idempotent.
///
/// False forbids it for any method.
public enum RetryableOption: RequestOptionKey {
    /// The decision of the caller.
    public typealias Value = Bool
}

extension RequestOptions {
    /// Whether the caller allows the request to be sent twice.
    public var isRetryable: Bool {
        get { self[RetryableOption.self] ?? false }
        set { self[RetryableOption.self] = newValue }
    }
}
