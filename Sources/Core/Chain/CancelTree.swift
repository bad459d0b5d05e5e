// SPDX-License-Identifier: Apache-2.0

import Synchronization

struct CancelMark: ~Copyable {
    private let kept = AtomicLazyReference<Kept<CancelReason>>()
    private let wasAwaited = Atomic(false)

    var reason: CancelReason? { kept.load()?.value }

    func keep(_ reason: CancelReason) { _ = kept.storeIfNil(Kept(reason)) }

    var isAwaited: Bool { wasAwaited.load(ordering: .relaxed) }

    func beAwaited() { wasAwaited.store(true, ordering: .relaxed) }
}

/// The handlers that wait for the cancellation of the contexts of a call.
///
/// All contexts of a call share one list, and a context without handlers therefore has no cost. The
/// trees of a client's calls are linked to the tree of the client's current generation. Lock order:
/// a thread that holds the lock of an inner tree may lock an outer tree, but not the reverse.
struct CancelTree: ~Copyable, Sendable {
    // The type is not private, because Swift 6.3 fails at a private type in a stored struct that
    // cannot be copied.
    struct State {
        fileprivate var link: CancelPlace?
        fileprivate var list = CancelList()
    }

    private let outer: CallRecord?
    private let state = Mutex(State())
    // False if no call was cancelled; a false flag avoids a loop over the outer contexts.
    private let hasReasons = Atomic(false)

    init(inside outer: CallRecord?) { self.outer = outer }

    func reason(of scope: Context) -> CancelReason? { mayHoldReason ? scope.reason : nil }

    private var mayHoldReason: Bool {
        hasReasons.load(ordering: .acquiring) || outer?.cancelTree.mayHoldReason == true
    }

    /// Registers a handler, or returns nil if the context is already cancelled.
    func add(_ scope: Context, _ handler: @escaping CancelHandler) -> CancelPlace? {
        state.withLock { state in
            // The link is made before the check, because `cancel` first records the reason and
            // afterwards follows the links.
            if state.link == nil, let outer, let scopeOutside = scope.call.parent?.scope {
                state.link = outer.cancelTree.insert(scopeOutside, .call(scope.call.record))
            }
            if reason(of: scope) != nil { return nil }
            scope.mark.beAwaited()
            return state.list.insert(scope, .handler(handler))
        }
    }

    func remove(_ place: CancelPlace) {
        // The handler is destroyed outside the lock, because its captured values may run code.
        _ = state.withLock { $0.list.remove(place) }
    }

    func removeAll(in scope: Context) {
        _ = state.withLock { state in
            state.list.places { $0 === scope }.map { state.list.remove($0) }
        }
    }

    func close() {
        let link = state.withLock { $0.link }
        if let link { outer?.cancelTree.remove(link) }
    }

    func cancel(_ scope: Context, _ reason: CancelReason) {
        let places = state.withLock { state -> [CancelPlace] in
            if scope.reason != nil { return [] }
            hasReasons.store(true, ordering: .releasing)
            scope.mark.keep(reason)
            return state.list.places { $0.isInside(scope: scope) }
        }
        tell(places, scope, reason)
    }

    private func insert(_ scope: Context, _ listener: CancelList.Listener) -> CancelPlace {
        state.withLock { $0.list.insert(scope, listener) }
    }

    private func tell(_ places: [CancelPlace], _ scope: Context, _ reason: CancelReason) {
        for place in places.sorted(by: { $0.number < $1.number }) {
            // Entries are removed one at a time, because a handler may remove other entries, which
            // must not be called. The reason is read under the lock, because the context may be
            // released after the unlock.
            let found = state.withLock { state in
                // An inner context may have been cancelled earlier for another reason.
                state.list.remove(place).map { unsafe ($0.listener, $0.scope.reason ?? reason) }
            }
            guard let (listener, reason) = found else { continue }
            switch listener {
            case .handler(let handler): handler(reason)
            case .call(let record):
                record.cancelTree.tellAll(inside: scope, reason)
            }
        }
    }

    private func tellAll(inside scope: Context, _ reason: CancelReason) {
        tell(state.withLock { $0.list.places { $0.isInside(scope: scope) } }, scope, reason)
    }
}

typealias CancelHandler = @Sendable (CancelReason) -> Void

struct CancelPlace: Sendable {
    fileprivate let index: Int?
    fileprivate let number: UInt64
}

private struct CancelList {
    enum Listener {
        case handler(CancelHandler)
        /// The record of an inner call, which contains the tree of the inner call.
        case call(CallRecord)
    }

    struct Entry {
        let number: UInt64
        // SAFETY: this property is used only under the lock of the tree. Before the memory of a
        // context is freed, the context removes all its entries under this lock.
        unowned(unsafe) let scope: Context
        let listener: Listener
    }

    private var last: UInt64 = 0
    // The first entry is stored inline, because a second entry is rare.
    private var first: Entry?
    private var others: [Entry?] = []
    private var free: [Int] = []

    mutating func insert(_ scope: Context, _ listener: Listener) -> CancelPlace {
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
        guard index < others.count, others[index]?.number == place.number else { return nil }
        free.append(index)
        return others[index].take()
    }

    func places(where isWanted: (Context) -> Bool) -> [CancelPlace] {
        var places: [CancelPlace] = []
        if let first, unsafe isWanted(first.scope) {
            places.append(CancelPlace(index: nil, number: first.number))
        }
        for (index, entry) in others.enumerated() {
            guard let entry, unsafe isWanted(entry.scope) else { continue }
            places.append(CancelPlace(index: index, number: entry.number))
        }
        return places
    }
}
