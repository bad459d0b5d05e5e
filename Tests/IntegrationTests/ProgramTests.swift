// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TurnpikeCore

/// Faults of URLSession on Linux are traps and hangs, and memory is a process's: so these run in
/// processes of their own.
@Suite("Programs under load", .serialized)
struct ProgramTests {
    private static let stormSize = Runs.size(150, all: 500)

    @Test("A storm of cancelled requests leaves no trap, hang, descriptor or file behind")
    func storm() async throws {
        let report = try await Program("turnpike-storm").run(
            "--count", "\(Self.stormSize)", "--warm-up", "0", "--shutdowns",
            "\(Runs.size(5, all: 20))", "--seed", "7",
            within: .seconds(120))
        #expect(report["program"]?.string == "storm")
        let ends = try #require(report["ends"])
        let names = ["finished", "cancelled", "dropped", "deadline"]
        #expect(names.reduce(0) { $0 + (ends[$1]?.int ?? 0) } == Self.stormSize)
        #expect((ends["cancelled"]?.int ?? 0) > Self.stormSize / 5)
        #expect(report["descriptors"]?["after"] == report["descriptors"]?["before"])
        // The server saw each probe's connection close; how fast depends on the machine.
        #expect((report["closeMilliseconds"]?["count"]?.int ?? 0) > 0)
    }

    // The environment's proxies answer nobody: libcurl would ask them, were it not told to ask none.
    @Test(
        "A storm over libcurl leaves nothing behind, and asks no proxy of the environment",
        arguments: Runs.size(["curl"], all: ["curl", "curl-executor"]))
    func curlStorm(transport: String) async throws {
        let nobody = "http://127.0.0.1:1/"
        let report = try await Program("turnpike-storm").run(
            "--count", "\(Self.stormSize)", "--warm-up", "0", "--shutdowns",
            "\(Runs.size(5, all: 20))", "--seed", "7",
            "--transport", transport,
            environment: ["http_proxy": nobody, "all_proxy": nobody], within: .seconds(120))
        let ends = try #require(report["ends"])
        let names = ["finished", "cancelled", "dropped", "deadline"]
        #expect(names.reduce(0) { $0 + (ends[$1]?.int ?? 0) } == Self.stormSize)
        #expect((ends["finished"]?.int ?? 0) > Self.stormSize / 10)
        #expect(report["descriptors"]?["after"] == report["descriptors"]?["before"])
        #expect(report["handles"]?["after"]?.int == 0)
    }

    @Test(
        "A body larger than memory ought to hold costs disk or nothing, down and up",
        arguments: Runs.size(
            ["down-slow", "up-stream"],
            all: ["down-slow", "down-drop", "download", "up-file", "up-stream", "multipart"]))
    func flood(mode: String) async throws {
        let report = try await Program("turnpike-flood").run(
            "--mode", mode, "--mib", "160", "--pause", "2", within: .seconds(120))
        // If it holds more than 60 MiB, the program fails.
        #expect((report["peakRSS"]?.double ?? 0) > 0)
        let expected = mode == "down-drop" ? 160 << 17 : 160 << 20
        #expect((report["bytes"]?.int ?? 0) >= expected)
        #expect(report["temporaryMiBLeft"]?.double == 0)
    }

    @Test(
        "Processes that are killed, or share a folder, leave whole entries of a cache and no more",
        arguments: Runs.size(
            [("kill", "--count", "2")],
            all: [("kill", "--count", "5"), ("share", "--seconds", "1")]))
    func crash(mode: String, option: String, count: String) async throws {
        let report = try await Program("turnpike-crash").run(
            "--mode", mode, option, count, within: .seconds(120))
        #expect(report["wrong"]?.int == 0)
        #expect((report["checked"]?.int ?? 0) > 0)
    }

    @Test(
        "Over libcurl it costs nothing but buffers",
        arguments: Runs.size(
            ["down-slow", "up-file"], all: ["down-slow", "download", "up-file", "up-stream"]))
    func curlFlood(mode: String) async throws {
        // If it holds more than 20 MiB, or a byte in temporary files, the program fails.
        let report = try await Program("turnpike-flood").run(
            "--mode", mode, "--mib", "160", "--pause", "2", "--transport", "curl",
            within: .seconds(120))
        #expect((report["bytes"]?.int ?? 0) >= 160 << 20)
        #expect(report["temporaryMiB"]?.double == 0)
    }

    // Handlers once piled up with each portion, until their end was a recursion too deep.
    @Test("A file of more portions than a stack has room for goes over libcurl", .long)
    func curlLongUpload() async throws {
        let report = try await Program("turnpike-flood").run(
            "--mode", "up-file", "--mib", "2100", "--transport", "curl", within: .seconds(240))
        #expect(report["bytes"]?.int == 2100 << 20)
    }

    #if os(Linux)
    @Test("A child inherits no descriptor that the library has opened")
    func descriptors() async throws {
        let report = try await Program("turnpike-descriptors").run(
            "--transport", "curl", within: .seconds(60))
        #expect(report["inherited"] == [])
        #expect((report["local"]?.int ?? 99) <= 2)
        #expect((report["open"]?.int ?? 0) > 15)
    }
    #endif

    @Test("A download whose process is killed again and again is right in the end")
    func resume() async throws {
        let kills = Runs.size(3, all: 8)
        let report = try await Program("turnpike-resume").run(
            "--kills", "\(kills)", "--mib", "8", "--seed", "3", within: .seconds(120))
        #expect(report["kills"]?.int == kills)
        #expect((report["resumes"]?.int ?? 0) > 0)
    }

    #if os(Linux)
    @Test("Memory stays what it was over 50,000 calls that end in all the ways there are", .long)
    func endurance() async throws {
        let report = try await Program("turnpike-endurance").run(within: .seconds(400))
        #expect(report["requests"]?.int == 50_000)
    }
    #endif
}
