// SPDX-License-Identifier: Apache-2.0

/// The reason for ending something early.
public struct CancelReason: Sendable {
    /// The party that cancels.
    public enum Owner: Sendable {
        /// The task that waits for the result.
        case task
        /// The running handle, or the client's shutdown.
        case handle
        /// The code that released the value.
        case drop
        /// A gate, for example because of a limit or a check.
        case gate
        /// A gate whose time limit has passed (``CancelReason/expired(_:)``).
        case timeLimit
    }

    /// The party that cancels.
    public let owner: Owner
    /// The error for the waiting caller.
    public let error: any Error

    /// Creates a reason.
    public init(_ owner: Owner, error: any Error = CancellationError()) {
        self.owner = owner
        self.error = error
    }

    /// The task that waits was cancelled.
    public static let task = CancelReason(.task)
    /// The handle was cancelled.
    public static let handle = CancelReason(.handle)
    /// The value was released.
    public static let drop = CancelReason(.drop)

    /// A gate cancels with an error.
    public static func failed(_ error: any Error) -> CancelReason {
        CancelReason(.gate, error: error)
    }

    /// The time limit of a gate has passed.
    ///
    /// Sends and bodies that are under way end with the error. A complete body can still be read. A
    /// broken body fails with the error that broke it off (``ResponseBodyArrival``).
    public static func expired(_ error: any Error) -> CancelReason {
        CancelReason(.timeLimit, error: error)
    }

    /// The same reason for a time limit that came first: it also ends complete and broken bodies.
    var decided: CancelReason { owner == .timeLimit ? .failed(error) : self }
}
