// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore

/// The names of fields that servers send, so that they need not be made and checked for each
/// response.
struct FieldNames: Sendable {
    private struct Known: Sendable {
        let bytes: StaticString
        let name: HTTPHeaders.Name

        init(_ bytes: StaticString) {
            self.bytes = bytes
            name = HTTPHeaders.Name(bytes.description)
        }
    }

    static let shared = FieldNames()

    // By the length of the name.
    private let known: [[Known]]

    private init() {
        var known = [[Known]](repeating: [], count: 33)
        for spelling in Self.spellings { known[spelling.utf8CodeUnitCount].append(Known(spelling)) }
        self.known = known
    }

    /// The name that bytes spell.
    func name(_ bytes: UnsafeBufferPointer<UInt8>) -> HTTPHeaders.Name {
        if bytes.count < known.count {
            for known in known[bytes.count] where unsafe known.bytes.isSpelled(by: bytes) {
                return known.name
            }
        }
        return HTTPHeaders.Name(unsafe String(decoding: bytes, as: UTF8.self))
    }

    // As HTTP/1.1 servers spell them, and in the lower case of HTTP/2.
    private static let spellings: [StaticString] = [
        "Accept-Ranges", "Age", "Alt-Svc", "Cache-Control", "Connection", "Content-Encoding",
        "Content-Language", "Content-Length", "Content-Type", "Date", "ETag", "Etag", "Expires",
        "Keep-Alive", "Last-Modified", "Link", "Location", "Server", "Set-Cookie",
        "Strict-Transport-Security", "Transfer-Encoding", "Vary", "Via", "X-Content-Type-Options",
        "X-Frame-Options", "X-Request-ID",
        "accept-ranges", "age", "alt-svc", "cache-control", "connection", "content-encoding",
        "content-language", "content-length", "content-type", "date", "etag", "expires",
        "keep-alive", "last-modified", "link", "location", "server", "set-cookie",
        "strict-transport-security", "transfer-encoding", "vary", "via", "x-content-type-options",
        "x-frame-options", "x-request-id",
    ]
}

extension StaticString {
    fileprivate func isSpelled(by bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let base = bytes.baseAddress else { return false }
        return unsafe memcmp(utf8Start, base, bytes.count) == 0
    }
}
