// SPDX-License-Identifier: Apache-2.0

/// The end of a response body; each body ends exactly once.
public struct ResponseBodyEnd: Sendable {
    /// The reasons for the end of a body.
    public enum Reason: Sendable {
        /// All of the content was read.
        case finished
        /// The content broke off, or a gate refused the content.
        case failed(any Error)
        /// The reader's task, the handle or the client was cancelled
        /// (``ClientError/isCancellation(_:)``).
        case cancelled
        /// The reader released the body.
        case dropped

        init(_ error: any Error) {
            self = ClientError.isCancellation(error) ? .cancelled : .failed(error)
        }
    }

    /// The reason for the end of the body.
    public let reason: Reason
    /// The number of bytes that the reader got.
    public let bytes: Int64
    /// The number of content bytes before decoding, or nil if unknown.
    public let encodedBytes: Int64?

    /// Whether all of the content was read.
    public var isFinished: Bool { reason.isFinished }
}

extension ResponseBodyEnd.Reason {
    var isFinished: Bool {
        if case .finished = self { return true }
        return false
    }
}

extension CancelReason {
    var bodyEndReason: ResponseBodyEnd.Reason {
        switch owner {
        case .task, .handle: .cancelled
        case .drop: .dropped
        case .gate, .timeLimit: ResponseBodyEnd.Reason(error)
        }
    }
}

/// How much of the content of a response has arrived, read or unread.
///
/// A time limit ends only a body that is under way. A body that wraps another body has the value of
/// the other body.
public enum ResponseBodyArrival: Sendable, Hashable {
    /// More content, or the end of the content, is still to arrive.
    case underWay
    /// All content has arrived, and is in memory or in a file.
    case complete
    /// The content broke off; the reader gets the bytes that arrived, and after them the error.
    case broken
}

/// The deadline for work on a body, which also applies after the body has arrived.
struct ResponseBodyExpiry: Sendable {
    /// The largest length of a body without a deadline, in bytes.
    static let smallest: Int64 = 65_536

    let deadline: MonotonicInstant
    let timeSource: any TimeSource
    let fault: @Sendable () -> ClientError

    func check() throws {
        if timeSource.now >= deadline { throw fault() }
    }
}

struct ExchangeDetails {
    let history: any ResponseHistory
    let head: ResponseHead

    func complete(_ error: ClientError) -> ClientError { history.completed(error, of: head) }
}

extension Response {
    /// Adds details to an error of the reader of the body.
    ///
    /// The details are the head of this response, the request as sent, and the outcomes of the
    /// attempts. A serializer of a stream calls this method for errors after the call has returned.
    public func completing(_ error: any Error) -> any Error {
        guard let history, let error = error as? ClientError else { return error }
        return history.completed(error.completed(response: head) as any Error)
    }
}
