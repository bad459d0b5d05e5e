// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Callers' turns: the caller that starts a transfer runs a turn of the loop itself. So libcurl
/// sends the request at once, and the caller may poll for the response. The engine's thread sleeps
/// meanwhile.
///
/// It saves the two thread hops of each small request: a single caller makes 1.6 times as many
/// requests, twice as many as with AsyncHTTPClient
/// (`swift run --package-path Benchmarks -c release bench peers --only W1`). With more than a few
/// transfers under way it saves nothing, and the thread takes all turns.
///
/// To remove it: `start` wakes the thread, `threadDue` is `due`, and no socket is left to callers.
extension CurlEngine {
    /// The state that the thread's turns share with the callers' turns.
    struct CallerTurns {
        /// Whether the thread leaves the sockets to callers, until it is woken.
        var haveSockets = false
        /// Whether a caller has taken a turn since the thread's last one.
        var areInUse = false
    }

    // With more transfers the thread hardly sleeps, and a caller's turn makes it wait: with 64 at
    // once to a server on the same machine that costs a third of the CPU.
    private static let maxLoad = 4
    // A caller polls at most so often for its response, which may come in pieces. Then it leaves
    // the response to the thread, because the caller does not read it while it polls.
    private static let maxPolls = 8
    // In milliseconds.
    private static let shortSleep: Int64 = 1000

    /// Takes turns for a caller that has posted a transfer.
    /// - Returns: Whether the inbox is taken care of; if not, the thread has to be woken.
    func takeCallerTurn(for transfer: CurlTransfer) -> Bool {
        // The thread itself takes its turn when its jobs have run.
        if loop.isHere || load.load(ordering: .relaxed) > Self.maxLoad { return false }
        repeat {
            guard owners.load(ordering: .sequentiallyConsistent) == 0,
                core.withLockIfAvailable({ callerTurn(&$0, for: transfer) }) != nil
            else {
                // After unlocking, the owner checks the inbox again.
                loop.interruptPoll()
                return true
            }
        } while inbox.withLock { $0.isNew }
        return true
    }

    private func callerTurn(_ core: inout Core, for transfer: CurlTransfer) {
        owners.add(1, ordering: .sequentiallyConsistent)
        defer { owners.subtract(1, ordering: .sequentiallyConsistent) }
        loop.beginTurn()
        defer { loop.endTurn() }
        core.callerTurns.areInUse = true
        var (ending, isMore) = turn(&core)
        for _ in 0..<Self.maxPolls {
            guard ending == .none, !isMore, core.transfers.isAlone(transfer), loop.mayPoll,
                owners.load(ordering: .relaxed) == 1, !inbox.withLock({ $0.isNew }), loop.poll()
            else { break }
            (ending, isMore) = turn(&core)
        }
        // While callers have the sockets, the thread waits only for a wake-up: it must take over
        // the sockets from this caller.
        let isLeft = core.callerTurns.haveSockets && !isIdle(core)
        if isMore || isLeft || ending != .none || due(core) < core.threadDue {
            core.threadDue = 0
            wake()
        }
    }

    /// Returns when the thread wakes up at the latest.
    ///
    /// If it slept until something is due, each caller whose transfer has a time limit of its own
    /// would wake it: while there are such callers, it sleeps for less than those limits.
    func threadDue(_ core: inout Core) -> Int64 {
        guard core.callerTurns.areInUse else { return due(core) }
        core.callerTurns.areInUse = false
        return min(due(core), CurlLoop.now + Self.shortSleep)
    }

    /// Decides whether callers poll the sockets until the thread is woken, which their responses
    /// would wake otherwise.
    func leavesSocketsToCallers(_ core: inout Core) -> Bool {
        core.callerTurns.haveSockets = isIdle(core) && loop.mayPoll
        return core.callerTurns.haveSockets
    }
}
