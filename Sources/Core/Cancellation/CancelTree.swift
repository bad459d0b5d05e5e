// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The reason for ending something early.
public struct CancelReason: Sendable {
    /// Who gives it up.
    public enum Owner: Sendable {
        /// The task that waits for it.
        case task
        /// The running handle, or the client's shutdown.
        case handle
        /// The value was released.
        case drop
        /// A gate: a limit, a check.
        case gate
        /// A gate whose time limit has passed; see ``CancelReason/expired(_:)``.
        case timeLimit
    }

    /// Who gives it up.
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

    /// A gate gives it up with an error.
    public static func failed(_ error: any Error) -> CancelReason {
        CancelReason(.gate, error: error)
    }

    /// The time limit of a gate is over: what is still under way ends with the error.
    ///
    /// A body that is complete or broken is not affected (``ResponseBodyArrival``): a complete body
    /// can be read at any later time, and one that broke off fails with the error that ended it.
    public static func expired(_ error: any Error) -> CancelReason {
        CancelReason(.timeLimit, error: error)
    }

    /// The reason once it is known that the time limit came first: it then ends everything.
    var decided: CancelReason { owner == .timeLimit ? .failed(error) : self }
}

/// A scope that can be cancelled.
///
/// Each context has one, inside the scopes of its outer contexts.
final class CancelScope: Sendable {
    private let outer: CancelScope?
    private let isCancelled = Atomic(false)
    private let kept = Mutex<CancelReason?>(nil)
    private let wasAwaited = Atomic(false)

    init(inside outer: CancelScope?) { self.outer = outer }

    /// Why this scope or an outer scope was cancelled.
    fileprivate var reason: CancelReason? {
        if isCancelled.load(ordering: .acquiring) { return kept.withLock { $0 } }
        return outer?.reason
    }

    /// Whether a handler was ever registered in this scope.
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

/// The handlers that wait for the cancellation of a call's contexts.
///
/// All contexts of a call share one list, so a context without handlers costs nothing extra. The
/// trees of a client's calls are linked to the tree of the client's current generation. Lock order:
/// a thread may lock an outer tree while it holds the lock of an inner tree, never the reverse.
final class CancelTree: Sendable {
    typealias Handler = @Sendable (CancelReason) -> Void

    private struct State {
        var link: CancelPlace?
        var list = CancelList()
    }

    private let outer: (tree: CancelTree, scope: CancelScope)?
    private let state = Mutex(State())
    // Lets calls that are never cancelled skip the walk through their scopes.
    private let hasReasons = Atomic(false)

    /// Creates a tree.
    /// - Parameter outer: A scope of another call, whose cancellation also cancels this call.
    init(inside outer: (tree: CancelTree, scope: CancelScope)?) { self.outer = outer }

    /// Why a scope or an outer scope was cancelled.
    func reason(of scope: CancelScope) -> CancelReason? { mayHoldReason ? scope.reason : nil }

    private var mayHoldReason: Bool {
        hasReasons.load(ordering: .acquiring) || outer?.tree.mayHoldReason == true
    }

    /// Registers a handler for the cancellation of a scope or an outer scope.
    ///
    /// Returns nil if that scope is already cancelled.
    func add(_ scope: CancelScope, _ handler: @escaping Handler) -> CancelPlace? {
        state.withLock { state in
            // Link before checking the reason: `cancel` records its reason first and then follows
            // the links.
            if state.link == nil, let outer {
                state.link = outer.tree.insert(outer.scope, .tree(self))
            }
            if reason(of: scope) != nil { return nil }
            scope.beAwaited()
            return state.list.insert(scope, .handler(handler))
        }
    }

    func remove(_ place: CancelPlace) {
        // Destroyed outside the lock, because the captures of the handler may run code of their
        // own.
        _ = state.withLock { $0.list.remove(place) }
    }

    /// Removes the handlers of a scope that is being destroyed.
    func removeAll(in scope: CancelScope) {
        _ = state.withLock { state in
            state.list.places { $0 === scope }.map { state.list.remove($0) }
        }
    }

    /// Removes the link to the outer tree when the call ends.
    func close() {
        let link = state.withLock { $0.link }
        if let link { outer?.tree.remove(link) }
    }

    /// Cancels a scope and calls the handlers in it and in its inner scopes.
    ///
    /// The first reason counts.
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
            // Removed one at a time: a handler may remove others, which must then not be called.
            guard let entry = state.withLock({ $0.list.remove(place) }) else { continue }
            switch entry.listener {
            // An inner scope may have been cancelled earlier for another reason.
            case .handler(let handler): handler(entry.scope.reason ?? reason)
            case .tree(let tree):
                let inner = tree.state.withLock { $0.list.places { $0.isInside(scope) } }
                tree.tell(inner, scope, reason)
            }
        }
    }
}

/// The position of an entry in a cancellation tree.
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
    // The first entry is stored inline, because there is rarely a second one.
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
        // A cancellation may have removed the entry, and another entry may have taken its position.
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
