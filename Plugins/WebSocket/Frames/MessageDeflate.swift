// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeSupport

/// Compresses the messages of the client (RFC 7692 §7.2.1).
final class MessageDeflater: Sendable {
    // SAFETY: the lock guards the stream.
    private struct Stream: @unchecked Sendable {
        var deflater: Deflater?
    }

    private let agreement: DeflateAgreement
    // The stream is created for the first message, because the stream takes 300 KiB.
    private let stream = Mutex(Stream())

    init(_ agreement: DeflateAgreement) { self.agreement = agreement }

    // Compresses a part of a message. The peer can decompress this part without the next part.
    func deflate(_ part: Data, isLast: Bool) throws -> Data {
        try stream.withLock { stream in
            let deflater =
                try stream.deflater
                ?? Deflater(rawWindowBits: agreement.clientWindowBits, level: 6)
            stream.deflater = deflater
            var output = try deflater.add(part) + deflater.flush()
            guard isLast else { return output }
            if agreement.clientForgets { deflater.reset() }
            // A flush without new content adds no bytes. An empty block is sent instead.
            if output.isEmpty { return Data([0]) }
            output.removeLast(4)
            return output.isEmpty ? Data([0]) : output
        }
    }
}

/// Decompresses the messages of the server in pieces of bounded size (RFC 7692 §7.2.2).
final class MessageInflater {
    private let agreement: DeflateAgreement
    private let maxMessageBytes: Int
    // The inflater is created for the first compressed message, to save memory in idle sockets.
    private var inflater: Inflater?
    private var input = Data()
    private var isLast = false
    private var mayHaveMore = false
    // The number of received bytes of the current message before and after decompression.
    private var encodedBytes = 0
    private var messageBytes = 0

    /// The maximum number of bytes of a piece.
    static let pieceBytes = 65_536

    // Decompression may enlarge a message by this factor, and 1 MiB is always allowed. The same
    // rule limits contents of responses.
    private static let ratio = 100
    private static let freeBytes = 1_048_576

    init(_ agreement: DeflateAgreement, maxMessageBytes: Int) {
        self.agreement = agreement
        self.maxMessageBytes = maxMessageBytes
    }

    // Adds content. The caller must have taken all pieces of the earlier content with ``next()``.
    func add(_ content: Data, isLast: Bool) {
        // The sender omits these four bytes at the end of a message (RFC 7692 §7.2.1).
        input = isLast ? content + [0, 0, 0xFF, 0xFF] : content
        encodedBytes += content.count
        self.isLast = isLast
        mayHaveMore = true
    }

    // Returns the next piece, and whether the piece ends its message. Returns nil if more content
    // is needed.
    func next() throws(Violation) -> (piece: Data, isLast: Bool)? {
        guard mayHaveMore else { return nil }
        do {
            return try nextPiece()
        } catch let violation as Violation {
            throw violation
        } catch {
            throw Violation(.invalidContent, "the peer sent content that cannot be decompressed")
        }
    }

    private func nextPiece() throws -> (piece: Data, isLast: Bool) {
        let inflater = try inflater ?? Inflater(rawWindowBits: agreement.serverWindowBits)
        self.inflater = inflater
        // With one byte beyond the limit, the message is too large, and decompression stops.
        let bound = min(maxMessageBytes, max(Self.ratio * encodedBytes, Self.freeBytes))
        let room = min(Self.pieceBytes, bound - messageBytes + 1)
        let (step, piece) = try unsafe withUnsafeTemporaryAllocation(
            byteCount: room, alignment: 1
        ) { output in
            let step = try unsafe input.withUnsafeBytes { input in
                try unsafe inflater.inflate(input, into: output)
            }
            return unsafe (step, Data(output.prefix(step.produced)))
        }
        input = step.consumed == input.count ? Data() : input.dropFirst(step.consumed)
        messageBytes += step.produced
        guard messageBytes <= bound else {
            let bytes = bound == maxMessageBytes ? "\(bound) bytes" : "\(Self.ratio) times its size"
            throw Violation(
                .messageTooBig, "the peer sent a message that inflates to more than \(bytes)")
        }
        // A sender may end the compressed stream at the end of a message. After a reset, the next
        // message begins another stream.
        if step.hasEnded { try inflater.reset() }
        mayHaveMore = step.produced == room || step.hasEnded && !input.isEmpty
        let endsMessage = isLast && !mayHaveMore
        if endsMessage {
            (encodedBytes, messageBytes) = (0, 0)
            if agreement.serverForgets, !step.hasEnded { try inflater.reset() }
        }
        return (piece, endsMessage)
    }
}
