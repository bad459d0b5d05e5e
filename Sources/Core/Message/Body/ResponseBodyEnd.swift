// SPDX-License-Identifier: Apache-2.0

/// How the content of a response ended.
///
/// It happens exactly once for each body.
public struct ResponseBodyEnd: Sendable {
    /// The ways a body ends.
    public enum Reason: Sendable {
        /// All of it was read.
        case finished
        /// It broke off, or a gate refused it.
        case failed(any Error)
        /// The reader's task, its handle or its client was cancelled
        /// (``ClientError/isCancellation(_:)``).
        case cancelled
        /// The reader let go of it.
        case dropped

        init(_ error: any Error) {
            self = ClientError.isCancellation(error) ? .cancelled : .failed(error)
        }
    }

    /// Why it ended.
    public let reason: Reason
    /// The bytes that the reader had got.
    public let bytes: Int64
    /// The bytes of content that had been transferred for them, before codings were removed; nil
    /// where the transport neither counts them nor was told their number.
    public let encodedBytes: Int64?

    /// Whether all of it was read.
    public var isFinished: Bool { reason.isFinished }
}

extension ResponseBodyEnd.Reason {
    var isFinished: Bool {
        if case .finished = self { return true }
        return false
    }
}
