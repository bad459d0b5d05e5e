// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeSupport

@testable import TurnpikeCache
@testable import TurnpikeCore

@Suite("Whom a DiskStore trusts")
struct DiskTrustTests {
    private let folder = TemporaryFolder()
    private let victim = TemporaryFolder()

    private func client(_ directory: String, _ notes: NoteTexts = NoteTexts()) -> CachedClient {
        CachedClient(
            DiskStore(directory: directory, maxBytes: 8 << 20, writingAfter: nil), outside: [notes]
        ) { _ in .ok(text: "one", headers: ["Cache-Control": "max-age=60"]) }
    }

    private func setMode(_ mode: Int, of path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    /// Fills a folder as a cache's might be, and links a part of a cache to it.
    private func lead(_ part: String) throws -> [String] {
        for name in ["0000abcd", "00000001", "deadbeef", "1-1-a", "index", "lock", "text"] {
            try Data("precious".utf8).write(to: URL(filePath: "\(victim.path)/\(name)"))
        }
        let link = "\(folder.path)/\(part)"
        try? FileManager.default.removeItem(atPath: link)
        try FileManager.default.createSymbolicLink(
            atPath: link, withDestinationPath: victim.path)
        return victim.items.sorted()
    }

    private func isUnharmed(_ items: [String]) -> Bool {
        victim.items.sorted() == items
            && items.allSatisfy {
                FileManager.default.contents(atPath: $0) == Data("precious".utf8)
            }
    }

    /// Calls twice and purges; says whether it all went on without a store.
    private func goesOnWithout(_ directory: String, reason: String) async throws {
        let notes = NoteTexts()
        let cached = client(directory, notes)
        for _ in 0..<2 {
            let answer = try await cached.get("/a")
            #expect(answer.text == "one")
            #expect(answer.status == "Turnpike;fwd=uri-miss")
        }
        await #expect(throws: FileFault.self) { _ = try await cached.cache.purge { _ in true } }
        await cached.client.shutdown()
        #expect(cached.sent == 2)
        #expect(cached.cache.statistics.stored == 0)
        #expect(notes.texts.count == 1)
        #expect(notes.texts.first?.contains(reason) == true)
        #expect(notes.texts.first?.contains(directory) == true)
    }

    @Test("A link in the folder is refused, and leads to no removal", arguments: [true, false])
    func links(isFilled: Bool) async throws {
        for part in ["v2", "v2/tmp", "v2/packs"] {
            try? FileManager.default.removeItem(atPath: folder.path + "/v2")
            if isFilled {
                let first = client(folder.path)
                // An answer that needs nothing of what is refused is given all the same.
                _ = try await first.get("/b")
                await first.client.shutdown()
            } else if part != "v2" {
                try FileManager.default.createDirectory(
                    atPath: folder.path + "/v2", withIntermediateDirectories: false,
                    attributes: [.posixPermissions: 0o700])
            }
            let items = try lead(part)
            try await goesOnWithout(folder.path, reason: "\(folder.path)/\(part) is not used")
            #expect(isUnharmed(items), "\(part)")
        }
    }

    @Test("A link that takes a folder's place while it is in use is refused, too")
    func swapped() async throws {
        for part in ["v2", "v2/packs", "v2/tmp"] {
            try? FileManager.default.removeItem(atPath: folder.path + "/v2")
            let store = DiskStore(directory: folder.path, maxBytes: 8 << 20, writingAfter: nil)
            let text = String(repeating: "x", count: 400_000)
            let cached = CachedClient(store) { _ in
                .ok(text: text, headers: ["Cache-Control": "max-age=60"])
            }
            _ = try await cached.get("/a")
            await store.flush()
            let items = try lead(part)
            for number in 0..<4 {
                #expect(try await cached.get("/\(number)").text == text)
                await store.flush()
            }
            _ = try? await cached.cache.purge { _ in true }
            await cached.client.shutdown()
            #expect(isUnharmed(items), "\(part)")
        }
    }

    @Test(
        "A folder that others may write to is refused, at each level",
        arguments: ["", "/v2", "/v2/packs", "/v2/tmp", "/v2/index", "/v2/lock"])
    func modes(part: String) async throws {
        let store = DiskStore(directory: folder.path)
        let first = CachedClient(store) { _ in
            .ok(
                text: String(repeating: "x", count: 400_000),
                headers: ["Cache-Control": "max-age=9"])
        }
        _ = try await first.get("/b")
        await first.client.shutdown()
        let mode = part == "/v2/index" || part == "/v2/lock" ? 0o620 : 0o770
        try setMode(mode, of: folder.path + part)
        try await goesOnWithout(
            folder.path, reason: "others may write to the path (mode \(String(mode, radix: 8)))")
        try setMode(mode & 0o700, of: folder.path + part)
        let later = client(folder.path)
        #expect(try await later.get("/a").status == "Turnpike;fwd=uri-miss;stored")
        await later.client.shutdown()
    }

    @Test(
        "A folder that another user owns is refused, at each level",
        .needs("to run as root", if: geteuid() == 0),
        arguments: ["", "/v2", "/v2/packs", "/v2/tmp"])
    func owners(part: String) async throws {
        for path in ["/v2", "/v2/packs", "/v2/tmp"] {
            try FileManager.default.createDirectory(
                atPath: folder.path + path, withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700])
        }
        try FileManager.default.setAttributes(
            [.ownerAccountID: 4711], ofItemAtPath: folder.path + part)
        try await goesOnWithout(folder.path, reason: "the path belongs to another user (ID 4711)")
    }

    @Test("The folder itself may be reached by a link, and may be sticky")
    func named() async throws {
        let alias = victim.path + "/alias"
        try FileManager.default.createSymbolicLink(
            atPath: alias, withDestinationPath: folder.path)
        try setMode(0o1777, of: folder.path)
        let first = client(alias)
        #expect(try await first.get("/a").status == "Turnpike;fwd=uri-miss;stored")
        await first.client.shutdown()
        let second = client(folder.path)
        #expect(try await second.get("/a").status?.hasPrefix("Turnpike;hit") == true)
        await second.client.shutdown()
    }

    @Test("A store continues by itself once the folder is repaired")
    func recovery() async throws {
        try setMode(0o777, of: folder.path)
        let cached = client(folder.path)
        #expect(try await cached.get("/a").status == "Turnpike;fwd=uri-miss")
        try setMode(0o700, of: folder.path)
        #expect(try await cached.get("/a").status == "Turnpike;fwd=uri-miss;stored")
        #expect(try await cached.get("/a").status?.hasPrefix("Turnpike;hit") == true)
        await cached.client.shutdown()
    }
}
