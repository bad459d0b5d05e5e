import Foundation
import TurnpikeCore

/// Reads a document, within limits, for as long as somebody waits for it.
enum XMLReader {
    /// Hands a document out event by event.
    /// - Parameters:
    ///   - content: The document.
    ///   - charset: The encoding that the `Content-Type` names.
    ///   - limits: How much is read.
    ///   - check: Is called between pieces; what it throws ends the reading.
    ///   - handle: Takes the events.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/serialization``, and what the closures throw.
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
