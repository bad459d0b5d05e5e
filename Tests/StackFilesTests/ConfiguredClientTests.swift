// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeSupport
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeStackFiles

@Suite("ConfiguredClient")
struct ConfiguredClientTests {
    private let transport = MockTransport { _ in .status(200) }

    private func configured(_ stack: JSONValue, _ registry: Registry? = nil) throws
        -> ConfiguredClient
    {
        try ConfiguredClient(
            StackFile(["stack": stack]), registry: registry ?? .forTests(transport),
            serializers: SerializerTable(), timeSource: ManualClock())
    }

    /// What a call looks like behind the stack.
    private func sent(_ client: ConfiguredClient) async throws -> Request {
        _ = try await client.client.get(anywhere).response()
        return try #require(transport.sent.last?.request)
    }

    @Test("A reload puts the new stack in force")
    func reload() async throws {
        let client = try configured([["use": "mark", "text": "old"]])
        #expect(try await sent(client).headers["X-Mark"] == "old")
        try client.reload(StackFile(["stack": [["use": "mark", "text": "new"]]]))
        #expect(try await sent(client).headers["X-Mark"] == "new")
        #expect(try client.file == StackFile(["stack": [["use": "mark", "text": "new"]]]))
    }

    @Test("Calls that are under way keep their stack")
    func inFlight() async throws {
        let entered = OneShot<Void>()
        let released = OneShot<Void>()
        var registry = Registry.forTests(transport)
        registry.register(gate: "hold") { _ in
            Around { request, _, next in
                if entered.settle(.success(())) { try await released.value {} }
                return try await next(request)
            }
        }
        func stack(_ text: String) -> JSONValue {
            [
                ["use": "mark", "text": .string(text)], ["use": "hold"],
                ["use": "mark", "text": .string(text)],
            ]
        }
        let client = try configured(stack("old"), registry)
        async let first = client.client.get(anywhere).response()
        try await entered.value {}
        try client.reload(StackFile(["stack": stack("new")]))
        _ = try await client.client.get(anywhere).response()
        released.settle(.success(()))
        _ = try await first
        let marks = transport.sent.map { $0.request.headers.values(of: "X-Mark") }
        #expect(marks == [["new", "new"], ["old", "old"]])
    }

    @Test(
        "A bad file keeps the previous stack in force and throws the reasons",
        arguments: [
            (["stack": [["use": "mrak"]]], "stack[0].use: "),
            (["stack": [["use": "broken"]]], "stack[0]: "),
            (["stack": [["use": "mark", "text": 1]]], "stack[0].text: "),
            (["stack": [], "transport": ["use": "tset"]], "transport.use: "),
            (["baseURL": "http://other.example/"], "baseURL: cannot change in a reload"),
        ] as [(JSONValue, String)])
    func badFile(file: JSONValue, expected: String) async throws {
        let client = try configured([["use": "mark", "text": "old"], ["use": "counter"]])
        #expect(try await sent(client).headers["X-Count"] == "1")
        let error = #expect(throws: ClientError.self) { try client.reload(StackFile(file)) }
        #expect(error?.code == .configuration)
        #expect(error?.message.hasPrefix(expected) == true, "\(error?.message ?? "")")
        let request = try await sent(client)
        #expect(request.headers["X-Mark"] == "old")
        #expect(request.headers["X-Count"] == "2")
    }

    @Test("A transport is created once, and again only if its part of the file has changed")
    func transports() throws {
        let made = Mutex(0)
        var registry = Registry.forTests(transport)
        registry.register(transport: "counted") { settings in
            _ = settings.int("size", default: 1, in: 1...9)
            if !settings.isDryRun { made.withLock { $0 += 1 } }
            return MockTransport { _ in .status(200) }
        }
        func file(_ size: Int, _ mark: String) throws -> StackFile {
            try StackFile([
                "transport": ["use": "counted", "size": .number(JSONNumber(size))],
                "stack": [["use": "mark", "text": .string(mark)]],
            ])
        }
        #expect(try file(1, "a").check(with: registry).isEmpty)
        #expect(made.withLock { $0 } == 0)
        let client = try ConfiguredClient(
            file(1, "a"), registry: registry, serializers: SerializerTable())
        #expect(made.withLock { $0 } == 1)
        let before = try #require(client.client.transport as? MockTransport)
        for mark in ["b", "c", "d"] { try client.reload(file(1, mark)) }
        #expect(made.withLock { $0 } == 1 && client.client.transport as? MockTransport === before)
        try client.reload(file(2, "d"))
        #expect(made.withLock { $0 } == 2 && client.client.transport as? MockTransport !== before)
    }

    @Test("A transport is created again if the text of one of its references has changed")
    func rotated() throws {
        let folder = TemporaryFolder()
        var registry = Registry.forTests(transport)
        registry.register(transport: "named") { settings in
            let name = settings.required("name")
            return MockTransport { _ in .ok(text: name) }
        }
        let name: JSONValue = ["file": .string(folder["name"])]
        let file = try StackFile(["transport": ["use": "named", "name": name], "stack": []])
        try folder.write("one", to: "name")
        let client = try ConfiguredClient(
            file, registry: registry, serializers: SerializerTable())
        let first = try #require(client.client.transport as? MockTransport)
        try client.reload(file)
        #expect(client.client.transport as? MockTransport === first)
        try folder.write("two", to: "name")
        try client.reload(file)
        #expect(client.client.transport as? MockTransport !== first)
    }

    @Test("A base URL behind a reference cannot change, and may be written directly")
    func referencedBase() throws {
        let folder = TemporaryFolder()
        try folder.write("http://a.example/", to: "base")
        let file = try StackFile(["baseURL": ["file": .string(folder["base"])], "stack": []])
        let client = try ConfiguredClient(
            file, registry: .forTests(transport), serializers: SerializerTable())
        try client.reload(StackFile(["baseURL": "http://a.example/", "stack": []]))
        try client.reload(file)
        try folder.write("http://b.example/", to: "base")
        let error = #expect(throws: ClientError.self) { try client.reload(file) }
        #expect(error?.message.hasPrefix("baseURL: cannot change in a reload") == true)
    }

    @Test("A gate whose factory fails only when it is built changes nothing either")
    func lateFailure() async throws {
        var registry = Registry.forTests(transport)
        registry.register(gate: "late") { settings in
            if !settings.isDryRun { throw ClientError(.configuration, "the disk is full") }
            return Mark(text: "late")
        }
        let client = try configured([["use": "mark", "text": "old"]], registry)
        let error = #expect(throws: ClientError.self) {
            try client.reload(StackFile(["stack": [["use": "late"]]]))
        }
        #expect(error?.message == "stack[0]: the disk is full")
        #expect(try await sent(client).headers["X-Mark"] == "old")
    }

    @Test(
        "The state of a gate survives if its id, or its name and position, is the same",
        arguments: [
            // The stack after the reload, and the count of the call that follows one before it.
            ([["use": "counter"]], "2"), ([["use": "counter"], ["use": "mark"]], "2"),
            ([["use": "counter", "note": "changed"]], "2"),
            ([["use": "mark"], ["use": "counter"]], "1"),
            ([["use": "counter", "id": "other"]], "1"), ([["use": "counter", "ratio": 2]], "1"),
        ] as [(JSONValue, String)])
    func keptByPosition(stack: JSONValue, expected: String) async throws {
        let client = try configured([["use": "counter"]])
        #expect(try await sent(client).headers["X-Count"] == "1")
        try client.reload(StackFile(["stack": stack]))
        #expect(try await sent(client).headers["X-Count"] == expected)
    }

    @Test("State that outlives a change of rules gets the new rules once they are in force")
    func updated() async throws {
        var registry = Registry.forTests(transport)
        registry.register(gate: "steps") { settings in
            let step = settings.int("step", default: 1, in: 1...10)
            let steps = settings.reloadable(
                "steps", for: true, updating: { $0.step.withLock { $0 = step } }, { Steps(step) })
            return Around { request, _, next in
                var request = request
                request.headers["X-Steps"] = String(steps.next())
                return try await next(request)
            }
        }
        registry.register(gate: "late") { settings in
            if !settings.isDryRun { throw ClientError(.configuration, "the disk is full") }
            return Mark(text: "late")
        }
        let client = try configured([["use": "steps"]], registry)
        #expect(try await sent(client).headers["X-Steps"] == "1")
        try client.reload(StackFile(["stack": [["use": "steps", "step": 3]]]))
        #expect(try await sent(client).headers["X-Steps"] == "4")
        expectError(.configuration) {
            try client.reload(
                StackFile(["stack": [["use": "steps", "step": 9], ["use": "late"]]]))
        }
        #expect(try await sent(client).headers["X-Steps"] == "7")
    }

    private struct Weak: Sendable {
        weak var steps: Steps?
    }

    private final class Steps: Sendable {
        let step: Mutex<Int>
        private let sum = Mutex(0)

        init(_ step: Int) { self.step = Mutex(step) }

        func next() -> Int {
            let step = step.withLock { $0 }
            return sum.withLock { sum in
                sum += step
                return sum
            }
        }
    }

    @Test("State is released once a stack is in force that does not use it")
    func released() throws {
        let kept = Mutex(Weak())
        var registry = Registry.forTests(transport)
        registry.register(gate: "steps") { settings in
            let steps = settings.reloadable("steps", for: true) { Steps(1) }
            if !settings.isDryRun { kept.withLock { $0.steps = steps } }
            return Around { request, _, next in
                _ = steps.next()
                return try await next(request)
            }
        }
        let client = try configured([["use": "steps"]], registry)
        #expect(kept.withLock { $0.steps != nil })
        try client.reload(StackFile(["stack": []]))
        #expect(kept.withLock { $0.steps == nil })
    }

    @Test("An id keeps the state of a gate that moves")
    func keptByID() async throws {
        let client = try configured([["use": "counter", "id": "c"]])
        _ = try await sent(client)
        try client.reload(
            StackFile(["stack": [["use": "mark"], ["use": "mark"], ["use": "counter", "id": "c"]]]))
        #expect(try await sent(client).headers["X-Count"] == "2")
    }

    @Test("Two gates with one id are a mistake")
    func sameID() async throws {
        let stack: JSONValue = [["use": "counter", "id": "c"], ["use": "mark", "id": "c"]]
        let error = #expect(throws: ClientError.self) { try configured(stack) }
        #expect(error?.message.hasPrefix("stack[1].id: ") == true, "\(error?.message ?? "")")
    }
}

@Suite("ConfiguredClientConcurrencyTests")
struct ConfiguredClientConcurrencyTests {
    @Test("Each call runs through one complete stack, however often it is replaced")
    func swaps() async throws {
        let transport = MockTransport { _ in .status(200) }
        func file(_ number: Int) throws -> StackFile {
            let mark: JSONValue = ["use": "mark", "text": .string("\(number)")]
            return try StackFile(["stack": [mark, ["use": "counter", "id": "c"], mark]])
        }
        let client = try ConfiguredClient(
            file(0), registry: .forTests(transport), serializers: SerializerTable())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...100 {
                group.addTask { try client.reload(file(number)) }
                for _ in 0..<5 {
                    group.addTask { _ = try await client.client.get(anywhere).response() }
                }
            }
            try await group.waitForAll()
        }
        #expect(transport.sentCount == 500)
        for request in transport.sent.map(\.request) {
            let marks = request.headers.values(of: "X-Mark")
            #expect(marks.count == 2 && marks.first == marks.last)
        }
        // The state went from stack to stack: no number was given twice.
        let counts = Set(transport.sent.compactMap { $0.request.headers["X-Count"] })
        #expect(counts.count == 500)
    }
}
