// SPDX-License-Identifier: Apache-2.0

/// The most content bytes that a call collects in memory: 100 MiB unless a gate sets another limit.
package enum CollectLimit: ContextKey {
    /// 100 MiB.
    package static var defaultValue: Int { 104_857_600 }
}
