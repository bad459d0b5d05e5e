// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Callers' iterations: who starts a transfer runs the loop itself, so that libcurl sends the
/// request at once, and may poll for the response. The engine's thread sleeps meanwhile.
///
/// It saves the two thread hops of each small request: a single caller makes 1.6 times the requests,
/// twice those of AsyncHTTPClient (`swift run --package-path Benchmarks -c release bench peers --only
/// W1`). With more than a few transfers under way it saves nothing, and the thread runs all.
///
/// To remove it: `start` wakes the thread, `threadDue` is `due`, and no socket is left to callers.
extension CurlEngine {
    /// What the thread's iterations know of the callers'.
    struct InlineRuns {
        /// Whether the thread leaves the sockets to callers, until it is woken.
        var haveSockets = false
        /// Whether a caller has run the loop since the thread last did.
        var areInUse = false
    }

    // With more transfers the thread hardly sleeps, and a caller's iteration makes it wait: with 64 at
    // once to a server on the same machine that costs a third of the CPU.
    private static let maxLoad = 4
    // A caller polls at most so often for its response, which may come in pieces. Then it leaves
    // the response to the thread, because the caller does not read it while it polls.
    private static let maxPolls = 8
    // In milliseconds.
    private static let shortSleep: Int64 = 1000

    /// Runs iterations of the loop for a caller that has posted a transfer.
    /// - Returns: Whether the inbox is taken care of; if not, the thread has to be woken.
    func runLoopInline(for transfer: CurlTransfer) -> Bool {
        // The thread itself goes on when its jobs have run.
        if loop.isHere || load.load(ordering: .relaxed) > Self.maxLoad { return false }
        repeat {
            guard owners.load(ordering: .sequentiallyConsistent) == 0,
                state.withLockIfAvailable({ iterateInline(&$0, for: transfer) }) != nil
            else {
                // After unlocking, the owner checks the inbox again.
                loop.interruptPoll()
                return true
            }
        } while inbox.withLock { $0.isNew }
        return true
    }

    private func iterateInline(_ state: inout LockedState, for transfer: CurlTransfer) {
        owners.add(1, ordering: .sequentiallyConsistent)
        defer { owners.subtract(1, ordering: .sequentiallyConsistent) }
        loop.beginIteration()
        defer { loop.endIteration() }
        state.inlineRuns.areInUse = true
        var (ending, isMore) = iterate(&state)
        for _ in 0..<Self.maxPolls {
            guard ending == .none, !isMore, state.transfers.isAlone(transfer), loop.mayPoll,
                owners.load(ordering: .relaxed) == 1, !inbox.withLock({ $0.isNew }), loop.poll()
            else { break }
            (ending, isMore) = iterate(&state)
        }
        // While callers have the sockets, the thread waits for a wake-up alone: it must take over what
        // this caller leaves.
        let isLeft = state.inlineRuns.haveSockets && !isIdle(state)
        if isMore || isLeft || ending != .none || due(state) < state.threadDue {
            state.threadDue = 0
            wake()
        }
    }

    /// Returns when the thread wakes up at the latest.
    ///
    /// If it slept until something is due, each caller whose transfer has a time limit of its own
    /// would wake it: while there are such callers, it sleeps for less than those limits.
    func threadDue(_ state: inout LockedState) -> Int64 {
        guard state.inlineRuns.areInUse else { return due(state) }
        state.inlineRuns.areInUse = false
        return min(due(state), CurlLoop.now + Self.shortSleep)
    }

    /// Decides whether callers poll the sockets until the thread is woken, which their responses
    /// would wake otherwise.
    func leavesSocketsToCallers(_ state: inout LockedState) -> Bool {
        state.inlineRuns.haveSockets = isIdle(state) && loop.mayPoll
        return state.inlineRuns.haveSockets
    }
}
