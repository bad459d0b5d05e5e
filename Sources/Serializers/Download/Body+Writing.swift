public import Foundation
public import TurnpikeCore

extension Body {
    /// Writes the content to a file, as it would be sent: a form, say, to be looked at or sent
    /// later.
    ///
    /// The file appears whole, with mode 0600. A one-shot stream is used up by it.
    /// - Parameters:
    ///   - file: The file.
    ///   - replacing: Whether a file that is there is replaced; without it the writing fails.
    /// - Returns: The number of bytes.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/download`` where the file cannot be made,
    ///   ``/TurnpikeCore/ClientError/Code/invalidRequest`` where it is no file URL, and what the
    ///   content breaks off with.
    @discardableResult
    public func write(to file: URL, replacing: Bool = false) async throws -> Int64 {
        guard file.isFileURL else {
            throw ClientError(.invalidRequest, "the URL to write the content to is no file URL")
        }
        let reader = try open()
        let partial = try PartialFile.create(in: file.deletingLastPathComponent())
        do {
            var count: Int64 = 0
            while let chunk = try await reader.next() {
                try partial.write(chunk, at: count)
                count += Int64(chunk.count)
            }
            try partial.move(to: file, replacing: replacing)
            return count
        } catch {
            partial.unlink()
            throw error
        }
    }
}
