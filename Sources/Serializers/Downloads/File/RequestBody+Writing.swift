// SPDX-License-Identifier: Apache-2.0

public import Foundation
public import TurnpikeCore

extension RequestBody {
    /// Writes the content to a file as it would be sent, for example to inspect a form.
    ///
    /// The file appears only when it is complete, with mode 0600. Writing consumes a one-shot
    /// stream.
    /// - Parameters:
    ///   - file: The file.
    ///   - replacing: Whether an existing file is replaced; otherwise writing fails if the file
    ///     exists.
    /// - Returns: The number of bytes.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/download`` if the file cannot be created or
    ///   written, ``/TurnpikeCore/ClientError/Code/invalidRequest`` if `file` is not a file URL,
    ///   and the error of the content if reading it fails.
    @discardableResult
    public func write(to file: URL, replacing: Bool = false) async throws -> Int64 {
        guard file.isFileURL else {
            throw ClientError(.invalidRequest, "the URL to write the content to is not a file URL")
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
