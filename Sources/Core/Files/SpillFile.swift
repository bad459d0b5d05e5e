// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeSupport

/// Bytes of a response that arrive faster than they are read: appended to a temporary file and read
/// from its front.
///
/// The file is truncated whenever the reader has caught up.
final class SpillFile {
    private let file: UnnamedFile
    private let limit: Int64
    private var readOffset: Int64 = 0
    private var writeOffset: Int64 = 0

    private static let readBytes = 262_144

    init(limit: Int64) throws {
        self.limit = limit
        file = try Self.attempt { try UnnamedFile.temporary() }
    }

    var isEmpty: Bool { readOffset == writeOffset }

    func append(_ chunk: Data) throws {
        guard writeOffset - readOffset + Int64(chunk.count) <= limit else {
            throw ClientError(
                .tooLarge,
                "the reader is behind the server by more than \(limit) bytes; read faster, or use a"
                    + " transport with backpressure")
        }
        try Self.attempt { try file.write(chunk, at: writeOffset) }
        writeOffset += Int64(chunk.count)
    }

    func read() throws -> Data? {
        if isEmpty { return nil }
        let wanted = Int(min(writeOffset - readOffset, Int64(Self.readBytes)))
        let chunk = try Self.attempt { try file.read(upToCount: wanted, at: readOffset) }
        readOffset += Int64(chunk.count)
        if isEmpty {
            readOffset = 0
            writeOffset = 0
            file.truncate()
        }
        return chunk
    }

    private static func attempt<Value>(_ action: () throws -> Value) throws -> Value {
        do {
            return try action()
        } catch let fault as FileFault {
            throw ClientError(
                .download, "a response cannot be buffered in a temporary file: \(fault)",
                underlying: fault)
        }
    }
}
