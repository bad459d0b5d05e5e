// SPDX-License-Identifier: Apache-2.0

/// The most content bytes that a call collects in memory: 100 MiB unless a gate sets another limit.
enum CollectLimit: ContextKey {
    /// 100 MiB.
    static var defaultValue: Int { 104_857_600 }
}

/// The longest line, item or event of a streamed response in bytes: 1 MiB unless a gate sets
/// another limit.
enum LineLimit: ContextKey {
    /// 1 MiB.
    static var defaultValue: Int { 1_048_576 }
}

extension Context {
    /// The most content bytes that the call collects in memory: 100 MiB unless a gate sets another
    /// limit; a serializer gets it as ``SerializationContext/maxBytes``.
    public var maxBytes: Int {
        get { self[CollectLimit.self] }
        set { self[CollectLimit.self] = newValue }
    }

    /// The longest line, item or event of a streamed response in bytes: 1 MiB unless a gate sets
    /// another limit; a serializer gets it as ``SerializationContext/maxLineBytes``.
    public var maxLineBytes: Int {
        get { self[LineLimit.self] }
        set { self[LineLimit.self] = newValue }
    }
}
