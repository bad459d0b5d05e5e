// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import TurnpikeCore
import TurnpikeSupport

// Content in a file. The body reads and checks the content block by block.
struct DiskContent: CachedContent {
    let file: CacheFile
    let layout: EntryFile.Layout
    let checksums: [UInt64]
    let queue: DispatchQueue
    let onDamage: @Sendable () -> Void

    var length: Int64 { layout.length }

    func body(_ range: Range<Int64>) -> ResponseBody {
        ResponseBody(source: DiskSource(self, range), length: range.count64)
    }

    // Whether the checksums of the blocks in `data` are right, from the block with number `block`.
    func isRight(_ data: Data, from block: Int) -> Bool {
        var rest = data[...]
        for checksum in checksums[block...] {
            if rest.isEmpty { return true }
            let part = rest.prefix(EntryFile.blockBytes)
            if XXHash64.hash(part) != checksum { return false }
            rest = rest.dropFirst(part.count)
        }
        return rest.isEmpty
    }

    var isWhole: Bool {
        stride(from: 0, to: layout.blockCount, by: Self.blocksRead).allSatisfy { block in
            (try? read(from: block)) != nil
        }
    }

    private static let blocksRead = 4

    func read(from block: Int) throws -> Data {
        let start = Int64(block) * Int64(EntryFile.blockBytes)
        let wanted = min(Int64(Self.blocksRead * EntryFile.blockBytes), length - start)
        let data = try file.read(Int(wanted), at: layout.contentOffset + start)
        guard data.count == wanted, isRight(data, from: block) else {
            onDamage()
            throw ClientError(
                .incomplete,
                "the stored response is damaged and was removed; send the request again")
        }
        return data
    }
}

private final class DiskSource: ResponseBodySource {
    private let content: DiskContent
    private let range: Range<Int64>
    private let position: Mutex<Int64>

    var arrival: ResponseBodyArrival { .complete }

    init(_ content: DiskContent, _ range: Range<Int64>) {
        self.content = content
        self.range = range
        position = Mutex(range.lowerBound)
    }

    func next() async throws -> Data? {
        try Task.checkCancellation()
        let position = position.withLock { $0 }
        guard position < range.upperBound else { return nil }
        let block = Int(position / Int64(EntryFile.blockBytes))
        let data = try await content.queue.run { [content] in try content.read(from: block) }
        let start = Int(position - Int64(block) * Int64(EntryFile.blockBytes))
        let chunk = data.dropFirst(start).prefix(Int(range.upperBound - position))
        self.position.withLock { $0 += Int64(chunk.count) }
        return Data(chunk)
    }

    func cancel(_ reason: CancelReason) {}
}

extension DispatchQueue {
    func run<Value: Sendable>(_ action: @escaping @Sendable () throws -> Value) async throws
        -> Value
    {
        try await withCheckedThrowingContinuation { continuation in
            async { continuation.resume(with: Result { try action() }) }
        }
    }
}
