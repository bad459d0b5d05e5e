// SPDX-License-Identifier: Apache-2.0

/// The longest line, item or event of a streamed response in bytes: 1 MiB unless a gate sets
/// another limit.
package enum LineLimit: ContextKey {
    /// 1 MiB.
    package static var defaultValue: Int { 1_048_576 }
}
