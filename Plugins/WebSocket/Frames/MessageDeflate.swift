// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TurnpikeSupport

/// Compresses the messages of the client (RFC 7692 §7.2.1).
final class MessageDeflater: Sendable {
    // SAFETY: the lock guards the stream.
    private struct Stream: @unchecked Sendable {
        var deflater: Deflater?
    }

    private let agreement: DeflateAgreement
    // Made with the first message, because a stream takes 300 KiB.
    private let stream = Mutex(Stream())

    init(_ agreement: DeflateAgreement) { self.agreement = agreement }

    /// Compresses a part of a message, so that the peer can inflate all of it.
    func deflate(_ part: Data, isLast: Bool) throws -> Data {
        try stream.withLock { stream in
            let deflater =
                try stream.deflater
                ?? Deflater(rawWindowBits: agreement.clientWindowBits, level: 6)
            stream.deflater = deflater
            var output = try deflater.add(part) + deflater.flush()
            guard isLast else { return output }
            if agreement.clientForgets { deflater.reset() }
            // A flush without new content adds nothing; an empty block then stands for it.
            if output.isEmpty { return Data([0]) }
            output.removeLast(4)
            return output.isEmpty ? Data([0]) : output
        }
    }
}

/// Inflates the messages of the server (RFC 7692 §7.2.2), a bounded piece at a time.
final class MessageInflater {
    private let agreement: DeflateAgreement
    private let maxMessageBytes: Int
    // Made with the first compressed message, so that an idle socket stays small.
    private var inflater: Inflater?
    private var input = Data()
    private var isLast = false
    private var mayHaveMore = false
    // Of the message: the bytes that came, and those that they inflated to.
    private var encodedBytes = 0
    private var messageBytes = 0

    /// The most bytes of one piece.
    static let pieceBytes = 65_536

    // Like the limits of contents: a message may inflate to so many times its size, but to 1 MiB always.
    private static let ratio = 100
    private static let freeBytes = 1_048_576

    init(_ agreement: DeflateAgreement, maxMessageBytes: Int) {
        self.agreement = agreement
        self.maxMessageBytes = maxMessageBytes
    }

    /// Adds content, after all pieces of the content before were taken.
    func add(_ content: Data, isLast: Bool) {
        // The sender leaves out the end of the flush (RFC 7692 §7.2.1).
        input = isLast ? content + [0, 0, 0xFF, 0xFF] : content
        encodedBytes += content.count
        self.isLast = isLast
        mayHaveMore = true
    }

    /// Returns the next piece, and whether it is the last of its message; nil if content is needed.
    func next() throws(Violation) -> (piece: Data, isLast: Bool)? {
        guard mayHaveMore else { return nil }
        do {
            return try nextPiece()
        } catch let violation as Violation {
            throw violation
        } catch {
            throw Violation(.invalidContent, "the peer sent content that cannot be inflated")
        }
    }

    private func nextPiece() throws -> (piece: Data, isLast: Bool) {
        let inflater = try inflater ?? Inflater(rawWindowBits: agreement.serverWindowBits)
        self.inflater = inflater
        // One byte more than is allowed shows that the message is too large, and no more is inflated.
        let bound = min(maxMessageBytes, max(Self.ratio * encodedBytes, Self.freeBytes))
        var output = Data(count: min(Self.pieceBytes, bound - messageBytes + 1))
        let step = try unsafe input.withUnsafeBytes { input in
            try unsafe output.withUnsafeMutableBytes {
                try unsafe inflater.inflate(input, into: $0)
            }
        }
        input = Data(input.dropFirst(step.consumed))
        messageBytes += step.produced
        guard messageBytes <= bound else {
            let bytes = bound == maxMessageBytes ? "\(bound) bytes" : "\(Self.ratio) times its size"
            throw Violation(
                .messageTooBig, "the peer sent a message that inflates to more than \(bytes)")
        }
        // A sender may end the stream with a message; the next one then begins another.
        if step.hasEnded { try inflater.reset() }
        mayHaveMore = step.produced == output.count || step.hasEnded && !input.isEmpty
        let endsMessage = isLast && !mayHaveMore
        if endsMessage {
            (encodedBytes, messageBytes) = (0, 0)
            if agreement.serverForgets, !step.hasEnded { try inflater.reset() }
        }
        return (output.prefix(step.produced), endsMessage)
    }
}
