// SPDX-License-Identifier: Apache-2.0

/// How a store answers who wants to fetch what is not stored.
public enum CacheClaim: Sendable, Hashable {
    /// The caller is to fetch it, and then to release the claim by this token.
    case granted(token: String)
    /// Somebody else fetches it, for at most this time.
    case held(atMost: Duration)
    /// Whoever asks fetches it: nobody waits, because the response to the last one was not stored.
    case unneeded
}
