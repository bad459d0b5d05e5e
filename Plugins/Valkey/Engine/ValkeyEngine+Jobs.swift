// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TurnpikeSupport

/// Tasks on the engine's thread. What they send goes out in pieces, and the rest when each has had its
/// turn: nobody has to be woken, and, unless somebody else is writing, no command waits for a clock.
extension ValkeyEngine: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        // The thread holds the engine, and sees to its jobs before it waits.
        if poller.isTurn, jobs.add(job) { return }
        // The job may let go of the client, and with it of the engine, while this goes on.
        let own = unsafe Unmanaged.passRetained(self)
        defer { unsafe own.release() }
        guard jobs.add(job) else { return globalConcurrentExecutor.enqueue(ExecutorJob(job)) }
        let wakes = core.withLock { core in
            defer { core.isAsleep = false }
            return core.isAsleep
        }
        if wakes { poller.wake() }
    }

    /// Runs the jobs that wait now, not those that they add: the network gets its turn in between.
    func runJobs(_ list: inout [UnownedJob]) {
        jobs.take(into: &list)
        for job in list { unsafe job.runSynchronously(on: asUnownedTaskExecutor()) }
        list.removeAll(keepingCapacity: true)
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
