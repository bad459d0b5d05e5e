// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The libhiredis of this machine, without which the Valkey client cannot be made.
///
/// It is looked for here, not by the client, so that a fault of the client's search fails the tests.
package enum ValkeyLibrary {
    #if os(Linux)
    private static let names =
        ["1.3.0", "1.2.0", "1.1.0", "1.0.0", "1", "0.14"].map { "libhiredis.so.\($0)" }
        + ["libhiredis.so"]
    #else
    private static let names =
        ["", "/opt/homebrew/lib/", "/usr/local/lib/"].map { "\($0)libhiredis.dylib" }
    #endif

    /// Whether it is installed.
    package static let isThere = names.contains { unsafe dlopen($0, RTLD_LAZY) != nil }
    /// What to install where it is not.
    package static let need = "libhiredis (the package libhiredis0.14 or 1.1.0 in Debian)"
}
