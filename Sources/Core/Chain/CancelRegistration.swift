/// A handler that waits for a cancellation.
///
/// It keeps its context alive, so that a cancellation further out still comes by.
public struct CancelRegistration: Sendable {
    private let context: Context
    private let id: UInt64

    init(context: Context, id: UInt64) {
        self.context = context
        self.id = id
    }

    /// Keeps the handler from being called from now on.
    public func end() { context.remove(id) }
}

/// The handlers of a context: nearly always one.
struct CancelHandlers {
    typealias Handler = @Sendable (CancelReason) -> Void

    private var last: UInt64 = 0
    private var single: (id: UInt64, handler: Handler)?
    private var others: [UInt64: Handler] = [:]

    /// The handlers, as they were added.
    var inOrder: [Handler] {
        var all = others.map { (id: $0.key, handler: $0.value) }
        if let single { all.append(single) }
        return all.sorted { $0.id < $1.id }.map(\.handler)
    }

    mutating func add(_ handler: @escaping Handler) -> UInt64 {
        last += 1
        if single == nil { single = (last, handler) } else { others[last] = handler }
        return last
    }

    mutating func remove(_ id: UInt64) -> Handler? {
        guard single?.id == id else { return others.removeValue(forKey: id) }
        return single.take()?.handler
    }
}
