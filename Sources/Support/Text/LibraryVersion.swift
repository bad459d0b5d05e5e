// SPDX-License-Identifier: Apache-2.0

/// The version of this library, for `User-Agent`.
public enum LibraryVersion {
    /// The version (semver.org).
    public static let current = "0.1.0"
}
