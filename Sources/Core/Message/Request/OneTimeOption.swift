// SPDX-License-Identifier: Apache-2.0

/// Whether the content of a request works only once, like a rotating refresh token: the server has
/// consumed it when it responds, and the replacement is only in the response.
enum OneTimeOption: RequestOptionKey {
    typealias Value = Bool
}

extension RequestOptions {
    /// Whether the content of the request works only once.
    ///
    /// Such a request is not ended by time limits of gates or by ``Client/cancelAll()``, but only
    /// by its own exchange and the limits of its sender. It is sent again only if no part of it was
    /// sent.
    package var isOneTime: Bool {
        get { self[OneTimeOption.self] ?? false }
        set { self[OneTimeOption.self] = newValue ? true : nil }
    }
}
