// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeSupport

/// Tasks on the engine's thread. What they send goes out in pieces, and the rest when each has had its
/// turn: nobody has to be woken, and no clock decides how long a command waits for others.
extension ValkeyEngine: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        guard jobs.add(job) else { return globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
        if poller.isHere { return }
        let wakes = core.withLock { core in
            defer { core.isAsleep = false }
            return core.isAsleep
        }
        if wakes { poller.wake() }
    }

    /// Runs the jobs that wait now, not those that they add: the network gets its turn in between.
    /// - Returns: Whether there were any.
    @discardableResult
    func runJobs(_ list: inout [UnownedJob]) -> Bool {
        jobs.take(into: &list)
        defer { list.removeAll(keepingCapacity: true) }
        for job in list { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
        return !list.isEmpty
    }

    /// Writes what the jobs have added.
    func writeOwn() {
        let links = core.withLock { core -> [Link] in
            if !core.hasOwn { return [] }
            core.hasOwn = false
            let now = Poller.now
            var links: [Link] = []
            for node in core.allNodes {
                for link in node.links where link.canWrite && !link.output.isEmpty {
                    beginWrite(link, now)
                    links.append(link)
                }
            }
            return links
        }
        for link in links { write(link) }
    }
}
