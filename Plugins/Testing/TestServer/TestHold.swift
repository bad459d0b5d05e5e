import Synchronization

/// What keeps an answer of a ``TestServer`` back until a test opens it.
public final class TestHold: Sendable {
    private let opened = Atomic(false)

    /// Creates a hold that is closed.
    public init() {}

    /// Lets the answer go on, and all later ones.
    public func open() { opened.store(true, ordering: .releasing) }

    var isOpen: Bool { opened.load(ordering: .acquiring) }
}
