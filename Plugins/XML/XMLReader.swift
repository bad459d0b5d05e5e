// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore

/// Reads a document within limits, and stops if a check throws.
enum XMLReader {
    /// Passes the events of a document to a closure.
    /// - Parameters:
    ///   - content: The document.
    ///   - charset: The charset of the `Content-Type`.
    ///   - limits: The limits.
    ///   - check: Called between pieces; its errors end the reading.
    ///   - handle: Receives the events.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization``, and the errors of the closures.
    static func read(
        _ content: Data, charset: String? = nil, limits: XMLLimits,
        check: () throws -> Void = { try Task.checkCancellation() },
        _ handle: @escaping (XMLEvent) throws -> Void
    ) throws {
        var scanner = XMLScanner(
            try XMLText.bytes(of: content, charset: charset), limits: limits, handle)
        try scanner.run(check: check)
    }
}
