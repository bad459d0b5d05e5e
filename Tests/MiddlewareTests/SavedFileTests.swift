// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeStackFiles
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Trust in files of cookies and hosts")
struct SavedFileTests {
    private let clock = ManualClock()
    private let folder = TemporaryFolder()
    private var path: String { folder["jar"] }

    /// Something that is kept in a file.
    enum Kind: CaseIterable { case cookies, hosts }

    /// Opens the file, adds something and writes it.
    private func add(_ kind: Kind, at path: String) async throws {
        switch kind {
        case .cookies:
            let jar = try CookieJar(file: path, timeSource: clock)
            let url = try #require(URL(string: "https://a.example/"))
            jar.store(["a=secret; Max-Age=100"], from: url, at: clock.date)
            await jar.flush()
        case .hosts:
            let store = try HSTSStore(file: path, timeSource: clock)
            store.store("max-age=100", from: "a.example", at: clock.date)
            await store.flush()
        }
    }

    private func isKept(_ kind: Kind, at path: String) throws -> Bool {
        switch kind {
        case .cookies: try CookieJar(file: path, timeSource: clock).cookies.map(\.name) == ["a"]
        case .hosts: try HSTSStore(file: path, timeSource: clock).hosts == ["a.example"]
        }
    }

    @Test("A file that is a link stays a link", arguments: Kind.allCases)
    func link(kind: Kind) async throws {
        try folder.makeFolder("real")
        try folder.link("jar", to: "real/jar")
        try await add(kind, at: path)
        #expect(folder.isLink("jar"))
        #expect(try isKept(kind, at: folder["real/jar"]))
        #expect(try isKept(kind, at: path))
        #expect(folder.names("real") == ["jar"])
    }

    @Test(
        "A folder or a file that others may write to is refused, and named",
        arguments: Kind.allCases)
    func modes(kind: Kind) async throws {
        try folder.makeFolder("a")
        try await add(kind, at: folder["a/jar"])
        for (name, mode, restored) in [("a", 0o777, 0o700), ("a/jar", 0o660, 0o600)] {
            try folder.setMode(mode, of: name)
            let error = await #expect(throws: ClientError.self) {
                try await add(kind, at: folder["a/jar"])
            }
            #expect(error?.code == .configuration)
            #expect(error?.message.contains(folder[name]) == true)
            #expect(error?.message.contains("others may write to the path") == true)
            try folder.setMode(restored, of: name)
        }
        #expect(try isKept(kind, at: folder["a/jar"]))
    }

    @Test(
        "A folder that becomes untrusted fails no call, and is reported once",
        arguments: Kind.allCases)
    func later(kind: Kind) async throws {
        let transport = MockTransport { request in
            .status(
                200,
                headers: [
                    "Set-Cookie": "n\(request.url.lastPathComponent)=1; Max-Age=99",
                    "Strict-Transport-Security": "max-age=99",
                ])
        }
        try folder.makeFolder("a")
        let path = folder["a/jar"]
        let notes = GateNotes()
        let gate: any Gate =
            switch kind {
            case .cookies: Cookies(try CookieJar(file: path, timeSource: clock))
            case .hosts: HSTS(try HSTSStore(file: path, timeSource: clock))
            }
        let client = Client(transport, clock: clock, [notes, gate])
        try folder.setMode(0o777, of: "a")
        for number in 0..<3 {
            _ = try await client.get(Target("https://h\(number).example/\(number)")).response()
            clock.advance(by: .seconds(1))
            // The file is written on a queue of its own; this waits for it.
            await gate.shutdown()
        }
        #expect(folder.names("a").isEmpty)
        #expect(notes.texts.count == 1)
        #expect(notes.texts.first?.contains(folder["a"]) == true)
        #expect(notes.texts.first?.contains("others may write to the path") == true)
        try folder.setMode(0o700, of: "a")
        _ = try await client.get("https://h9.example/9").response()
        await gate.shutdown()
        #expect(folder.names("a") == ["jar"])
    }

    @Test(
        "Changes that could not be written are written by the next flush",
        arguments: Kind.allCases)
    func again(kind: Kind) async throws {
        try folder.makeFolder("a")
        let flush: () async -> Void
        let url = try #require(URL(string: "https://a.example/"))
        switch kind {
        case .cookies:
            let jar = try CookieJar(file: folder["a/jar"], timeSource: clock)
            jar.store(["a=secret; Max-Age=100"], from: url, at: clock.date)
            flush = { await jar.flush() }
        case .hosts:
            let store = try HSTSStore(file: folder["a/jar"], timeSource: clock)
            store.store("max-age=100", from: "a.example", at: clock.date)
            flush = { await store.flush() }
        }
        try folder.setMode(0o777, of: "a")
        await flush()
        #expect(folder.names("a").isEmpty)
        try folder.setMode(0o700, of: "a")
        await flush()
        #expect(try isKept(kind, at: folder["a/jar"]))
    }

    @Test(
        "Leftovers of a killed writer are removed when the file is opened",
        arguments: Kind.allCases)
    func leftovers(kind: Kind) async throws {
        try await add(kind, at: path)
        for name in ["jar.4711-1.tmp", "jar.4711-2.tmp", "jar.txt"] {
            try Data("secret".utf8).write(to: URL(filePath: folder[name]))
        }
        #expect(try isKept(kind, at: path))
        #expect(folder.names("") == ["jar", "jar.txt"])
    }

    @Test("A file named directly and by a link in stack files is one file")
    func sharedLink() async throws {
        try folder.makeFolder("real")
        try Data().write(to: URL(filePath: folder["real/jar"]))
        try folder.setMode(0o600, of: "real/jar")
        try folder.link("jar", to: "real/jar")
        var registry = Registry()
        registry.registerMiddleware()
        registry.register(transport: "set") { _ in
            MockTransport { request in
                let name = request.url.lastPathComponent
                return .status(
                    200, headers: ["Set-Cookie": "\(name)=1; Path=/; Max-Age=9999"])
            }
        }
        let clients = try [path, folder["real/jar"]].map { path in
            let file = try StackFile([
                "transport": ["use": "set"], "stack": [["use": "cookies", "file": .string(path)]],
            ])
            return try ConfiguredClient(
                file, registry: registry, serializers: SerializerTable()
            ).client
        }
        for (index, client) in clients.enumerated() {
            _ = try await client.get("http://a.example/c\(index)").response()
        }
        for client in clients { await client.shutdown() }
        #expect(try CookieJar(file: path).cookies.count == 2)
    }
}

@Suite("HSTS and a clock that was wrong")
struct HSTSClockTests {
    private let folder = TemporaryFolder()
    private let present = Date(timeIntervalSince1970: 1_700_000_000)

    @Test("A clock that was once ahead makes no host forgotten")
    func ahead() async throws {
        let path = folder["hosts"]
        let clock = ManualClock(date: present)
        let before = try HSTSStore(file: path, timeSource: clock)
        before.store("max-age=31536000; includeSubDomains", from: "a.example", at: present)
        await before.flush()
        let far = present.addingTimeInterval(10 * 366 * 86_400)
        let wrong = try HSTSStore(file: path, timeSource: ManualClock(date: far))
        #expect(!wrong.requiresTLS("a.example", at: far))
        // Something is written meanwhile, and room is made.
        wrong.store("max-age=100", from: "b.example", at: far)
        await wrong.flush()
        let after = try HSTSStore(file: path, timeSource: clock)
        #expect(after.requiresTLS("x.a.example", at: present))
        #expect(after.requiresTLS("b.example", at: present))
    }

    @Test("If room is needed, expired hosts are removed first")
    func room() {
        let store = HSTSStore()
        for number in 0..<HSTSStore.maxHosts {
            let isOver = number % 20 == 0
            store.insert(
                "h\(number).example", until: present.addingTimeInterval(isOver ? -1 : 1000),
                includesSubdomains: false)
        }
        store.insert("new.example", until: present + 2000, includesSubdomains: false)
        #expect(store.hosts.count <= HSTSStore.maxHosts)
        #expect(!store.hosts.contains("h0.example") && !store.hosts.contains("h20.example"))
        #expect(store.requiresTLS("new.example", at: present))
    }
}

/// Keeps the notes of gates.
private final class GateNotes: RequestLogger {
    private let notes = Mutex<[String]>([])

    var texts: [String] { notes.withLock { $0 } }

    func log(_ event: CallEvent) {
        if case .note(_, message: let text) = event.kind { notes.withLock { $0.append(text) } }
    }
}
