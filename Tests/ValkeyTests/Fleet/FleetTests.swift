// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// Processes that share a quota over a real server, each as busy as it can be.
///
/// The short run of the tests keeps a small fleet; the others show rates, which need a machine of their
/// own. `TURNPIKE_FLEET=1` asks for 8 processes, 50 calls at once each, 500
/// requests a second, for 30 seconds. Each test prints its figures.
@Suite(
    "A fleet of processes", .serialized,
    .needs(ValkeyPeer.need, if: ValkeyPeer.isAvailable))
struct FleetTests {
    private let size = FleetSize.usual

    private static let faketime = [
        "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1",
        "/usr/lib/aarch64-linux-gnu/faketime/libfaketimeMT.so.1",
    ].first(where: FileManager.default.fileExists)

    // libfaketime 0.9.10 moves the times of all timer descriptors, those of the monotonic clock too, with
    // which Dispatch waits: with a clock that is an hour behind, a timer would come an hour late.
    private static let timers = """
        #include <sys/syscall.h>
        long syscall(long, ...);
        int timerfd_settime(int timer, int flags, const void *value, void *old) {
            return (int)syscall(SYS_timerfd_settime, timer, flags, value, old);
        }
        """

    private func show(_ fleet: FleetOfProcesses, _ name: String) {
        print(fleet.figures(name))
    }

    private func expectShared(_ fleet: FleetOfProcesses, from begin: Duration) {
        let end = Duration.seconds(fleet.size.seconds)
        #expect(fleet.failures == 0)
        // Measurements, so only if one was asked for.
        guard FleetSize.isLong else { return }
        #expect(fleet.most() <= fleet.bound)
        #expect(fleet.use(from: begin, to: end) >= 0.97)
        #expect(fleet.unfairness(from: begin, to: end) <= 0.2)
        #expect(fleet.added <= 40)
    }

    @Test("A small fleet gets no more than its quota, and each process some of it")
    func small() async throws {
        let peer = try ValkeyPeer()
        let fleet = try await FleetOfProcesses.run(peer.url, .small)
        show(fleet, "small")
        #expect(fleet.failures == 0)
        // Whenever requests arrive, there are no more than were granted since the begin.
        let size = fleet.size
        for (number, arrival) in fleet.arrivals.enumerated() {
            let granted = Double(size.burst) + Double(size.quota) * (arrival.at / .seconds(1))
            #expect(Double(number + 1) <= granted + 1)
        }
        #expect(fleet.arrivals.count > size.burst)
        #expect(Set(fleet.arrivals.map(\.process)) == Set(0..<size.processes))
    }

    @Test("All of them together keep to the quota, use it, and get even parts", .long)
    func together() async throws {
        let peer = try ValkeyPeer()
        let fleet = try await FleetOfProcesses.run(peer.url, .undisturbed)
        show(fleet, "undisturbed")
        expectShared(fleet, from: .seconds(1))
    }

    @Test(
        "Clocks that are wrong by up to an hour do not matter",
        .long, .needs("the package faketime", if: faketime != nil))
    func clocks() async throws {
        let peer = try ValkeyPeer()
        let library = try #require(Self.faketime)
        let folder = TemporaryFolder()
        try folder.write(Self.timers, to: "timers.c")
        let timers = folder["timers.so"]
        _ = try #require(
            output(of: "clang", "-shared", "-fPIC", folder["timers.c"], "-o", timers),
            "clang of the Swift toolchain is not there")
        let environments = (0..<size.processes).map { number in
            let offset = (number * 7200) / max(size.processes - 1, 1) - 3600
            return [
                "LD_PRELOAD": "\(timers):\(library)",
                "FAKETIME": (offset < 0 ? "" : "+") + "\(offset)s",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_FORCE_MONOTONIC_FIX": "0",
            ]
        }
        let fleet = try await FleetOfProcesses.run(
            peer.url, .undisturbed, environments: environments)
        show(fleet, "clocks wrong by an hour")
        expectShared(fleet, from: .seconds(1))
    }

    /// Disturbs a run, and expects what must hold: the steps follow each other in even times, of so many
    /// seconds in the long form and of one in the short form, and the last one repairs the damage.
    private func disturbed(
        _ name: String, url: String, for seconds: Int = 10,
        _ steps: (@Sendable () throws -> Void)...
    ) async throws {
        let length = Duration.seconds(FleetSize.isLong ? seconds : 1)
        let events = steps.enumerated().map { number, step in
            let part = Double(number) / Double(steps.count - 1)
            return (at: FleetSize.disturbedAt + length * part, action: step)
        }
        let fleet = try await FleetOfProcesses.run(url, size, events: events)
        show(fleet, name)
        let normal = FleetSize.disturbedAt + length + FleetSize.recovery
        #expect(fleet.failures == 0)
        // Measurements, so only if one was asked for.
        guard FleetSize.isLong else { return }
        #expect(fleet.added <= 40)
        // While some replicas draw on the store, and others on their share, both draw: twice the
        // quota and the burst, by the table in the plugin's README.
        #expect(fleet.most() <= fleet.bound + size.quota)
        #expect(fleet.most(from: normal) <= fleet.bound)
        #expect(fleet.use(from: normal, to: .seconds(size.seconds)) >= 0.95)
    }

    @Test("A server that is killed, and comes back without its data", .long)
    func killed() async throws {
        let peer = try ValkeyPeer()
        try await disturbed("killed", url: peer.url, { peer.kill() }, { try peer.restart() })
    }

    @Test("A server that is stopped, and goes on", .long)
    func stopped() async throws {
        let peer = try ValkeyPeer()
        try await disturbed(
            "stopped", url: peer.url, for: 5, { peer.pause() }, { peer.resume() })
    }

    @Test("A network that is slow, then cuts connections at random bytes", .long)
    func network() async throws {
        let peer = try ValkeyPeer()
        let proxy = try FaultyProxy(to: peer.port)
        try await disturbed(
            "200 ms more, then cuts", url: "redis://127.0.0.1:\(proxy.port)",
            {
                proxy.faults.upDelay = .milliseconds(100)
                proxy.faults.downDelay = .milliseconds(100)
            },
            {
                proxy.faults = .init()
                proxy.faults.cutsWithin = 2000
                proxy.reset()
            },
            {
                proxy.faults = .init()
                proxy.reset()
            })
        #expect(proxy.cuts > 0)
    }

    @Test("A server whose memory is full", .long)
    func full() async throws {
        let peer = try ValkeyPeer(options: ["--maxmemory-policy", "noeviction"])
        try await disturbed(
            "full", url: peer.url,
            { try peer.command("CONFIG", "SET", "maxmemory", "1mb") },
            { try peer.command("CONFIG", "SET", "maxmemory", "0") })
    }

    @Test("A primary that another server replaces", .long)
    func failover() async throws {
        let pair = try ValkeyPair()
        let url = "redis://127.0.0.1:\(pair.first.port),127.0.0.1:\(pair.second.port)"
        try await disturbed(
            "failover", url: url,
            { try pair.promote(pair.second) },
            { try pair.demote(pair.first, below: pair.second) })
    }

    @Test("A slot of a cluster that moves", .long)
    func movedSlot() async throws {
        let cluster = try ValkeyCluster()
        let moves = { @Sendable in
            let keys = try cluster.nodes.flatMap { try $0.command("KEYS", "turnpike:*").list ?? [] }
            let slots = try Set(keys.compactMap(\.text).map { try cluster.slot(of: $0) })
            #expect(!slots.isEmpty)
            for slot in slots {
                try cluster.move(slot, to: (cluster.owner(of: slot) + 1) % cluster.nodes.count)
            }
        }
        try await disturbed("slots move", url: cluster.url, moves, moves)
    }
}
