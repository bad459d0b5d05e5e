/// A handler that waits for a cancellation.
///
/// It keeps its context alive, so that a cancellation further out still comes by.
public struct CancelRegistration: Sendable {
    private let context: Context
    private let place: CancelPlace?

    init(context: Context, place: CancelPlace?) {
        self.context = context
        self.place = place
    }

    /// Keeps the handler from being called from now on.
    public func end() {
        if let place { context.call.cancelTree.remove(place) }
    }
}
