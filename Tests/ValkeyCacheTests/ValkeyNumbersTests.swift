// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Turnpike
import TurnpikeCache
import TurnpikeTesting
import TurnpikeValkey
import TurnpikeValkeyCache

@Suite(
    "Numbers without limit of a Valkey server and its store",
    .enabled(if: ValkeyPeer.isAvailable, "\(ValkeyPeer.need)"))
struct ValkeyNumbersTests {
    private typealias Options = ValkeyStore.Options
    private typealias Configuration = ValkeyServer.Configuration

    private static var optionTimes: [(String, WritableKeyPath<Options, Duration>)] {
        [
            ("ValkeyStore.Options.timeLimit", \.timeLimit),
            ("ValkeyStore.Options.staleTime", \.staleTime),
        ]
    }
    private static var times: [(String, WritableKeyPath<Configuration, Duration>)] {
        [
            ("ValkeyServer.Configuration.connectLimit", \.connectLimit),
            ("ValkeyServer.Configuration.stallLimit", \.stallLimit),
        ]
    }
    private static var counts: [(String, WritableKeyPath<Configuration, Int>)] {
        [
            ("ValkeyServer.Configuration.connections", \.connections),
            ("ValkeyServer.Configuration.maxReplyBytes", \.maxReplyBytes),
            ("ValkeyServer.Configuration.maxReplyValues", \.maxReplyValues),
            ("ValkeyServer.Configuration.maxWaitingBytes", \.maxWaitingBytes),
            ("ValkeyServer.Configuration.maxWaitingCommands", \.maxWaitingCommands),
        ]
    }

    @Test("The table has each public number of both modules")
    func complete() throws {
        let names = Self.optionTimes.map(\.0) + Self.times.map(\.0) + Self.counts.map(\.0)
        let known = Set(
            names + ["ValkeyStore.Options.fleetLock", "ValkeyStore.Options.maxEntryBytes"])
        let numbers = try PublicNumbers.of("TurnpikeValkey")
            .union(PublicNumbers.of("TurnpikeValkeyCache"))
        #expect(numbers == known)
    }

    private static let number = Atomic(0)

    private func call(_ server: ValkeyServer, _ options: Options) async {
        // Of its own, so that no earlier call has stored the response.
        let partition = "\(Self.number.add(1, ordering: .relaxed).newValue)"
        let cache = Cache(ValkeyStore(server, options: options), partition: partition)
        #expect(cache.facts(for: nil) != nil)
        let transport = MockTransport { _ in .ok(headers: ["Cache-Control": "max-age=60"]) }
        let client = Client(transport: transport, stack: [cache])
        for _ in 0..<2 { _ = try? await client.get("http://a.example/").data() }
        #expect(transport.sentCount >= 1)
        await client.shutdown()
    }

    @Test("Whatever an option of the store is, calls end")
    func options() async throws {
        let peer = try ValkeyPeer()
        for time in ExtremeNumbers.times {
            for (_, path) in Self.optionTimes {
                var options = Options.patient
                options[keyPath: path] = time
                await call(try ValkeyServer(url: peer.url), options)
            }
            var options = Options.patient
            options.fleetLock = time
            await call(try ValkeyServer(url: peer.url), options)
        }
        for count in ExtremeNumbers.whole {
            var options = Options.patient
            options.maxEntryBytes = count
            await call(try ValkeyServer(url: peer.url), options)
        }
    }

    @Test("Whatever a number of the configuration is, commands end")
    func configurations() async throws {
        let peer = try ValkeyPeer()
        func send(_ configuration: Configuration) async throws {
            let server = try ValkeyServer(url: peer.url, configuration: configuration)
            _ = try? await server.send(ValkeyCommand("PING"), within: .seconds(5))
            #expect(server.configuration.connections >= 1)
        }
        for (_, path) in Self.times {
            for time in ExtremeNumbers.times {
                var configuration = Configuration()
                configuration[keyPath: path] = time
                try await send(configuration)
            }
        }
        for (_, path) in Self.counts {
            for count in ExtremeNumbers.whole {
                var configuration = Configuration()
                configuration[keyPath: path] = count
                try await send(configuration)
            }
        }
    }
}
