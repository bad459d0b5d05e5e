// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Turnpike
import TurnpikeTesting

/// The storm and what is checked behind it.
struct StormRun {
    private let options: StormOptions
    private let clock = ContinuousClock()

    init(_ options: StormOptions) { self.options = options }

    func run() async throws -> JSONValue {
        let directory = try PrivateDirectory()
        defer { directory.remove() }
        let files = try PrivateDirectory()
        defer { files.remove() }
        unsafe setenv("TMPDIR", directory.path, 1)
        let server = try StormServer(file: URL(filePath: files.path + "/upload"))
        try await warmUp(server)
        let before = await Descriptors.settled { _ in false }

        let ends = EndCount()
        let transport = try options.transport.make()
        let target = server.server.target
        let clients = (
            empty: Client(baseURL: target, transport: transport, stack: Stack([ends])),
            standard: Client(
                baseURL: target, transport: transport, stack: Stack([ends]) + .standard)
        )
        func storm(_ numbers: Range<Int>) async throws -> StormPart {
            let tally = StormTally()
            let begin = clock.now
            let probe = StormProbe(transport: transport, seed: options.seed)
            async let probed: Void = probe.run()
            await withTaskExecutorPreference(options.transport.executor(of: transport)) {
                await send(numbers, through: clients, server, tally)
            }
            probe.stop()
            try await probed
            let seconds = (clock.now - begin) / .seconds(1)
            if let wrong = tally.wrong { throw StormFailure(wrong) }
            try await checkPlain(clients.empty)
            try await checkPlain(clients.standard)
            // Each connection of the pool has two ends here.
            let pool = 2 * options.transport.poolSize + options.transport.ownDescriptors
            let pooled = await Descriptors.settled { $0 <= before + pool }
            guard pooled <= before + pool else {
                throw StormFailure(
                    "\(pooled) descriptors are open, \(before) were, and the pool has \(pool)")
            }
            if let fault = await ends.fault() { throw StormFailure(fault) }
            try await fillPool(clients.empty)
            return StormPart(
                tally: tally, closeTimes: probe.times, pooled: pooled, seconds: seconds,
                handles: options.transport.handles, memory: await ProcessMemory.settled())
        }
        var first = try await storm(options.count..<options.count + options.warmUp)
        var main = try await storm(0..<options.count)
        // What leaks does so each time; what the system gave in larger pieces does not.
        if main.hasGrown(options, since: first) {
            (first, main) = (main, try await storm(0..<options.count))
        }
        let connections = server.server.counts.accepted

        await clients.empty.shutdown()
        await clients.standard.shutdown()
        let shutdown = StormShutdown(server: server, options: options)
        if let fault = await shutdown.run(waves: options.shutdowns) { throw StormFailure(fault) }
        let after = await Descriptors.settled { $0 <= before }
        // The clients still live: what has closed was closed by their shutdown.
        withExtendedLifetime(clients) {}
        guard after <= before else {
            throw StormFailure("\(after) descriptors are open after all shutdowns, \(before) were")
        }
        let handles = options.transport.handles
        guard handles == 0 else { throw StormFailure("\(handles) handles were left") }
        let left = directory.files
        guard left.isEmpty else { throw StormFailure("these files were left: \(left)") }
        let figures = main.figures(
            options, since: first, descriptors: (before, after), connections: connections,
            calls: ends.count)
        if let fault = main.fault(options, since: first) {
            throw StormFailure("\(fault): \(figures)")
        }
        return figures
    }

    // What the first exchange of a process opens for good is none of the storm's.
    private func warmUp(_ server: StormServer) async throws {
        let client = Client(
            baseURL: server.server.target, transport: try options.transport.make(), stack: [])
        try await checkPlain(client)
        await client.shutdown()
    }

    private func checkPlain(_ client: Client) async throws {
        let content = try await client.get("plain").data()
        guard content.count == 1024 else {
            throw StormFailure("a plain request gave \(content.count) bytes")
        }
    }

    /// Sends as many requests at once as the storm does, so that whenever memory is looked at the
    /// pool holds the same.
    private func fillPool(_ client: Client) async throws {
        try await withThrowingTaskGroup { group in
            for _ in 0..<options.concurrency {
                group.addTask { _ = try await client.get("delayed").data() }
            }
            try await group.waitForAll()
        }
    }

    private func send(
        _ numbers: Range<Int>, through clients: (empty: Client, standard: Client),
        _ server: StormServer, _ tally: StormTally
    ) async {
        let next = Counter(numbers.lowerBound)
        await withTaskGroup { group in
            for _ in 0..<options.concurrency {
                group.addTask {
                    while case let number = next.take(), number < numbers.upperBound {
                        let plan = StormPlan(seed: options.seed, number: number)
                        let client = plan.isStandard ? clients.standard : clients.empty
                        let attempt = StormCall(plan: plan, call: server.call(plan, by: client))
                        tally.add(await attempt.run(server), of: plan, number: number)
                    }
                }
            }
        }
    }
}

private final class Counter: Sendable {
    private let value: Atomic<Int>

    init(_ value: Int) { self.value = Atomic(value) }

    func take() -> Int { value.add(1, ordering: .relaxed).oldValue }
}
