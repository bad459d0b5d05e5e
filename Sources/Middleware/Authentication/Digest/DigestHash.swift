// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSupport

/// A hash function of Digest (RFC 7616 §3.3).
enum DigestHash: Sendable, Hashable, Comparable {
    case md5
    case sha256

    /// The name, as written in a challenge.
    var name: String { self == .md5 ? "MD5" : "SHA-256" }

    /// The hash of a text, in hexadecimal digits.
    func hex(_ text: String) -> String {
        let data = Data(text.utf8)
        return switch self {
        case .md5: MD5.digest(of: data).hexadecimal
        case .sha256: SHA256.digest(of: data).hexadecimal
        }
    }

    /// The hash of a request's content, in hexadecimal digits; the body must be replayable.
    func hex(_ body: RequestBody) async throws -> String {
        switch self {
        case .md5: try await body.read(into: MD5()) { $0.update($1) }.finalize().hexadecimal
        case .sha256: try await SHA256.digest(of: body).hexadecimal
        }
    }
}
