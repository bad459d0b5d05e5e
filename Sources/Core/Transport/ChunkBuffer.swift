// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The chunks that the reader has not taken yet, in order.
///
/// They are kept in memory up to the limit of ``Flow``, and beyond it in a file.
struct ChunkBuffer {
    private let flow: Flow
    private var chunks: [BodyChunk] = []
    private var first = 0
    private var file: SpillFile?

    /// The number of bytes in memory.
    private(set) var count = 0

    init(_ flow: Flow) { self.flow = flow }

    mutating func append(_ chunk: BodyChunk) throws {
        // The order is kept: while the file has chunks, new chunks are added to the file.
        if let file, !file.isEmpty { return try file.append(chunk.data()) }
        if let limit = flow.memoryLimit, count + chunk.count > limit, count > 0 {
            let file = try self.file ?? SpillFile(limit: flow.fileLimit)
            self.file = file
            return try file.append(chunk.data())
        }
        chunks.append(chunk)
        count += chunk.count
    }

    mutating func popFirst() throws -> BodyChunk? {
        guard first < chunks.count else { return try file?.read().map(BodyChunk.data) }
        let chunk = chunks[first]
        chunks[first] = .data(Data())
        first += 1
        if first == chunks.count {
            chunks.removeAll(keepingCapacity: true)
            first = 0
        } else if first > 64, first * 2 > chunks.count {
            chunks.removeFirst(first)
            first = 0
        }
        count -= chunk.count
        return chunk
    }

    mutating func removeAll() {
        for chunk in chunks[first...] { chunk.drop() }
        chunks = []
        first = 0
        count = 0
        file = nil
    }
}
