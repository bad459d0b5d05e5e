// SPDX-License-Identifier: Apache-2.0

/// A handler that waits for a cancellation.
///
/// The registration keeps its context alive, so that cancelling an outer context still reaches the
/// handler.
public struct CancelRegistration: Sendable {
    private let context: Context
    private let place: CancelPlace?

    init(context: Context, place: CancelPlace?) {
        self.context = context
        self.place = place
    }

    /// Removes the handler, so that it is not called from now on.
    public func end() {
        if let place { context.call.cancelTree.remove(place) }
    }
}
