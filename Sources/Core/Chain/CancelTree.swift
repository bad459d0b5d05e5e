import Synchronization

/// A place where a cancellation can be asked for: each context is one, below those around it.
final class CancelScope: Sendable {
    private let outer: CancelScope?
    private let isCancelled = Atomic(false)
    private let kept = Mutex<CancelReason?>(nil)
    private let wasAwaited = Atomic(false)

    init(inside outer: CancelScope?) { self.outer = outer }

    /// Why this scope, or one around it, was cancelled.
    fileprivate var reason: CancelReason? {
        if isCancelled.load(ordering: .acquiring) { return kept.withLock { $0 } }
        return outer?.reason
    }

    /// Whether anything ever waited in this scope.
    var isAwaited: Bool { wasAwaited.load(ordering: .relaxed) }

    fileprivate func beAwaited() { wasAwaited.store(true, ordering: .relaxed) }

    fileprivate func cancel(_ reason: CancelReason) {
        kept.withLock { $0 = reason }
        isCancelled.store(true, ordering: .releasing)
    }

    fileprivate func isInside(_ other: CancelScope) -> Bool {
        self === other || outer?.isInside(other) == true
    }
}

/// What waits for the cancellation of a call's contexts: one list for all of them, so that a context
/// costs nothing but itself until somebody waits in it.
///
/// The trees of a client's calls hang from that of their generation. A lock is taken while that of
/// a tree further in is held, never the other way.
final class CancelTree: Sendable {
    typealias Handler = @Sendable (CancelReason) -> Void

    private struct State {
        var link: CancelPlace?
        var list = CancelList()
    }

    private let outer: (tree: CancelTree, scope: CancelScope)?
    private let state = Mutex(State())
    // Spares the many looks of calls that nobody cancels their way through the scopes.
    private let hasReasons = Atomic(false)

    /// Creates a tree.
    /// - Parameter context: A context of another call whose cancellation reaches this one.
    init(inside context: Context?) { outer = context.map { ($0.call.cancelTree, $0.scope) } }

    /// Why a scope, or one around it, was cancelled.
    func reason(of scope: CancelScope) -> CancelReason? { mayHoldReason ? scope.reason : nil }

    private var mayHoldReason: Bool {
        hasReasons.load(ordering: .acquiring) || outer?.tree.mayHoldReason == true
    }

    /// Lets a handler wait for the cancellation of a scope, or of one around it; gives nil where it
    /// has come.
    func add(_ scope: CancelScope, _ handler: @escaping Handler) -> CancelPlace? {
        state.withLock { state in
            // Before the look at the reason: who cancels notes it first, then looks for the links.
            if state.link == nil, let outer {
                state.link = outer.tree.insert(outer.scope, .tree(self))
            }
            if reason(of: scope) != nil { return nil }
            scope.beAwaited()
            return state.list.insert(scope, .handler(handler))
        }
    }

    func remove(_ place: CancelPlace) {
        // Released outside the lock: what it captured may run code of its own.
        _ = state.withLock { $0.list.remove(place) }
    }

    /// Lets go of what waits in a scope that is no more.
    func removeAll(in scope: CancelScope) {
        _ = state.withLock { state in
            state.list.places { $0 === scope }.map { state.list.remove($0) }
        }
    }

    /// Ends the tree with its call.
    func close() {
        let link = state.withLock { $0.link }
        if let link { outer?.tree.remove(link) }
    }

    /// Cancels a scope, and tells what waits in it or further in; the first reason counts.
    func cancel(_ scope: CancelScope, _ reason: CancelReason) {
        let places = state.withLock { state -> [CancelPlace] in
            if scope.reason != nil { return [] }
            hasReasons.store(true, ordering: .releasing)
            scope.cancel(reason)
            return state.list.places { $0.isInside(scope) }
        }
        tell(places, scope, reason)
    }

    private func insert(_ scope: CancelScope, _ listener: CancelList.Listener) -> CancelPlace {
        state.withLock { $0.list.insert(scope, listener) }
    }

    private func tell(_ places: [CancelPlace], _ scope: CancelScope, _ reason: CancelReason) {
        for place in places.sorted(by: { $0.number < $1.number }) {
            // One by one: who is told first may end others, and those are not called any more.
            guard let entry = state.withLock({ $0.list.remove(place) }) else { continue }
            switch entry.listener {
            // Further in another reason may have been the first.
            case .handler(let handler): handler(entry.scope.reason ?? reason)
            case .tree(let tree):
                let inner = tree.state.withLock { $0.list.places { $0.isInside(scope) } }
                tree.tell(inner, scope, reason)
            }
        }
    }
}

/// Where an entry of a tree of cancellations stands.
struct CancelPlace: Sendable {
    fileprivate let index: Int?
    fileprivate let number: UInt64
}

private struct CancelList {
    enum Listener {
        case handler(CancelTree.Handler)
        case tree(CancelTree)
    }

    struct Entry {
        let number: UInt64
        let scope: CancelScope
        let listener: Listener
    }

    private var last: UInt64 = 0
    // The first has a place of its own, for there is rarely a second.
    private var first: Entry?
    private var others: [Entry?] = []
    private var free: [Int] = []

    mutating func insert(_ scope: CancelScope, _ listener: Listener) -> CancelPlace {
        last += 1
        let entry = Entry(number: last, scope: scope, listener: listener)
        if first == nil {
            first = entry
            return CancelPlace(index: nil, number: last)
        }
        let index = free.popLast() ?? others.count
        if index < others.count { others[index] = entry } else { others.append(entry) }
        return CancelPlace(index: index, number: last)
    }

    mutating func remove(_ place: CancelPlace) -> Entry? {
        guard let index = place.index else {
            return first?.number == place.number ? first.take() : nil
        }
        // An entry that a cancellation took may have left its place to another one.
        guard index < others.count, others[index]?.number == place.number else { return nil }
        free.append(index)
        return others[index].take()
    }

    func places(where isWanted: (CancelScope) -> Bool) -> [CancelPlace] {
        var places: [CancelPlace] = []
        if let first, isWanted(first.scope) {
            places.append(CancelPlace(index: nil, number: first.number))
        }
        for (index, entry) in others.enumerated() {
            guard let entry, isWanted(entry.scope) else { continue }
            places.append(CancelPlace(index: index, number: entry.number))
        }
        return places
    }
}
