// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// A caller that starts a transfer runs an iteration of the loop itself. In this iteration, libcurl
/// sends the request at once, the caller may poll for the response, and the engine's thread sleeps.
///
/// A caller's iteration saves two thread hops for each small request. A single caller makes 1.6
/// times as many requests, twice as many as with AsyncHTTPClient (`swift run --package-path
/// Benchmarks -c release bench peers --only W1`). With more than a few transfers, a caller's
/// iteration saves nothing, and the thread runs.
///
/// Without this file, `start` wakes the thread, `due` replaces `threadDue`, and callers do not
/// poll.
extension CurlEngine {
    struct InlineRuns {
        /// Whether callers poll the sockets and the thread waits only for a wake-up.
        var haveSockets = false
        /// Whether a caller has run the loop after the thread's last iteration.
        var areInUse = false
    }

    // With more transfers than this limit, the thread hardly sleeps, and a caller's iteration makes
    // the thread wait. For 64 simultaneous requests to a server on the same machine, iterations of
    // callers cost a third of the CPU.
    private static let maxLoad = 4
    // The maximum number of a caller's polls for a response, which may arrive in pieces. A polling
    // caller does not read the response. The thread therefore continues after these polls.
    private static let maxPolls = 8
    // The time in milliseconds.
    private static let shortSleep: Int64 = 1000

    // Runs iterations of the loop for a caller that has posted a transfer. If the result is false,
    // the caller has to wake the thread.
    func runLoopInline(for transfer: CurlTransfer) -> Bool {
        // The thread itself runs the next iteration after its jobs.
        if loop.isHere || load.load(ordering: .relaxed) > Self.maxLoad { return false }
        repeat {
            guard owners.load(ordering: .sequentiallyConsistent) == 0 else {
                // After unlocking, these owners of the lock check the inbox again.
                loop.interruptPoll()
                return true
            }
            // Another owner of the lock, such as `connections`, does not check the inbox.
            if state.withLockIfAvailable({ iterateInline(&$0, for: transfer) }) == nil {
                loop.interruptPoll()
                return false
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
        // While callers poll the sockets, the thread waits only for a wake-up. A wake-up is needed
        // for unfinished transfers of this caller.
        let isLeft = state.inlineRuns.haveSockets && !isIdle(state)
        if isMore || isLeft || ending != .none || due(state) < state.threadDue {
            state.threadDue = 0
            wake()
        }
    }

    // Returns the latest time at which the thread wakes up. If the thread slept until the next due
    // time, each caller with an earlier time limit would wake the thread. While callers run the
    // loop, the thread therefore sleeps only briefly.
    func threadDue(_ state: inout LockedState) -> Int64 {
        guard state.inlineRuns.areInUse else { return due(state) }
        state.inlineRuns.areInUse = false
        return min(due(state), CurlLoop.now + Self.shortSleep)
    }

    // Decides whether callers poll the sockets until a wake-up. If not, responses wake the thread.
    func leavesSocketsToCallers(_ state: inout LockedState) -> Bool {
        state.inlineRuns.haveSockets = isIdle(state) && loop.mayPoll
        return state.inlineRuns.haveSockets
    }
}
