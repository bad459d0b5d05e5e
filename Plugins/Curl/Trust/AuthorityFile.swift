// SPDX-License-Identifier: Apache-2.0

import CTurnpikeCurl
import Synchronization
import TurnpikeSupport

/// Authorities in a file in memory, whose path libcurl gets.
///
/// libcurl copies and compares authorities in bytes for each call, and parses the authorities for
/// each connection. The 140 authorities of Debian made a call over TLS 1.6 times as expensive.
final class AuthorityFile: Sendable {
    /// A path that no other content of this process has had recently, because libcurl keys
    /// connections, TLS sessions and parsed authorities by the path.
    let path: String
    private let file: UnnamedFile

    private static let folder = "/proc/self/fd"
    private static let count = Atomic<UInt16>(0)

    /// - Returns: nil if the system has no files in memory, or no `/proc`.
    init?(_ authorities: Data) {
        let descriptor = tpc_memory_file()
        guard descriptor >= 0 else { return nil }
        file = UnnamedFile(descriptor: descriptor)
        // The system may reuse the number of a closed file. The bits of the count, written as "/."
        // and "/", make a different path with the same meaning.
        let number = Self.count.add(1, ordering: .relaxed).oldValue
        let bits = (0..<UInt16.bitWidth).map { number >> $0 & 1 == 0 ? "/" : "/." }.joined()
        path = Self.folder + "\(bits)/\(descriptor)"
        guard (try? file.write(authorities, at: 0)) != nil, unsafe access(path, R_OK) == 0
        else { return nil }
    }

    /// Returns a text of libcurl without the path, which means nothing to a user.
    static func withoutPath(_ text: String) -> String {
        guard let path = text.firstRange(of: folder) else { return text }
        return text[..<path.lowerBound] + "authorities in memory"
    }
}
