// SPDX-License-Identifier: Apache-2.0

extension AsyncHTTPClientTransport {
    /// Parts of the configuration of an `HTTPClient` that the transport cannot read from it.
    public struct ClientTraits: OptionSet, Hashable, Sendable {
        /// The bits of the set.
        public let rawValue: UInt8

        /// Creates a set from bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The `HTTPClient` returns redirects: its `redirectConfiguration` is `.disallow`.
        ///
        /// Without this trait, the transport assumes that the `HTTPClient` follows redirects, which
        /// is the default of async-http-client, and stops it. The caller gets the head of the
        /// redirect, but cannot read its content, and the connection is closed. If this trait is
        /// wrong, the call fails as `configuration` after the second request was sent.
        public static let returnsRedirects = Self(rawValue: 1 << 0)

        /// The `HTTPClient` decodes content: its `decompression` is `.enabled`, as for
        /// `HTTPClient.shared`.
        ///
        /// The transport then asks for gzip and deflate, and leaves decoding and its limit to the
        /// `HTTPClient`. If this trait is missing, encoded content fails as `decompression`.
        public static let decodesContent = Self(rawValue: 1 << 1)
    }
}
