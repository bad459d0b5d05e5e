// SPDX-License-Identifier: Apache-2.0

/// The reason why a call, a wait or a body ends early.
public struct CancelReason: Sendable {
    /// The party that cancels.
    public enum Owner: Sendable {
        /// The task that waits for the result.
        case task
        /// The handle of a running call, or the shutdown of the client.
        case handle
        /// The code that released the value.
        case drop
        /// A gate, for example because of a limit or a check.
        case gate
        /// A gate whose time limit has ended (``CancelReason/expired(_:)``).
        case timeLimit
    }

    /// The party that cancels.
    public let owner: Owner
    /// The error that the waiting caller gets.
    public let error: any Error

    /// Creates a reason.
    public init(_ owner: Owner, error: any Error = CancellationError()) {
        self.owner = owner
        self.error = error
    }

    /// The waiting task was cancelled.
    public static let task = CancelReason(.task)
    /// The handle was cancelled.
    public static let handle = CancelReason(.handle)
    /// The value was released.
    public static let drop = CancelReason(.drop)

    /// A gate cancels the call with an error.
    public static func failed(_ error: any Error) -> CancelReason {
        CancelReason(.gate, error: error)
    }

    /// The time limit of a gate has ended.
    ///
    /// Running sends and incomplete bodies end with the error. The caller can still read a complete
    /// body. A body that broke off fails with the error that broke it off
    /// (``ResponseBodyArrival``).
    public static func expired(_ error: any Error) -> CancelReason {
        CancelReason(.timeLimit, error: error)
    }

    /// A reason with which a time limit also ends complete and broken bodies.
    var decided: CancelReason { owner == .timeLimit ? .failed(error) : self }
}
