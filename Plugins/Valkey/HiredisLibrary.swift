// SPDX-License-Identifier: Apache-2.0

import CTurnpikeValkey
import TurnpikeCore

/// The libhiredis of this system, which is loaded when it is first needed.
enum HiredisLibrary {
    private static let shared: ClientError? = fault(loading: nil)

    /// Loads the library from a file; nil means the usual files.
    ///
    /// It is for tests of failures. After a success, it must not be called again.
    /// - Returns: ``/TurnpikeCore/ClientError/Code/unsupported`` if there is no library, or if it is
    ///   too old or lacks a function.
    static func fault(loading file: String?) -> ClientError? {
        guard let reason = unsafe tpv_load(file) else { return nil }
        return ClientError(
            .unsupported,
            "the Valkey client needs libhiredis 0.14 or 1.x: \(unsafe String(cString: reason));"
                + " install it, on Debian with: apt-get install libhiredis0.14")
    }

    /// Loads the library, once in a process.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/unsupported`` if there is none or it is too old.
    static func load() throws { if let shared { throw shared } }
}
