// SPDX-License-Identifier: Apache-2.0

extension AsyncHTTPClientTransport {
    /// Parts of the configuration of an `HTTPClient` that cannot be read from the `HTTPClient`.
    public struct ClientTraits: OptionSet, Hashable, Sendable {
        /// The bits of the set.
        public let rawValue: UInt8

        /// Creates a set from bits.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The `HTTPClient` returns redirects: its `redirectConfiguration` is `.disallow`.
        ///
        /// Without this trait the transport takes it to follow them, which is async-http-client's
        /// default, and stops it. The caller gets the head of the redirect. Its content cannot be
        /// read, and its connection is closed. With this trait, where it is not true, the call fails
        /// as `configuration`, after the second request was sent.
        public static let returnsRedirects = Self(rawValue: 1 << 0)

        /// The `HTTPClient` decodes content: its `decompression` is `.enabled`, as that of
        /// `HTTPClient.shared` is.
        ///
        /// The transport then asks for gzip and deflate, and leaves the decoding, and its limit, to
        /// the `HTTPClient`. Without this trait, where it is true, encoded content fails as
        /// `decompression`.
        public static let decodesContent = Self(rawValue: 1 << 1)
    }
}
