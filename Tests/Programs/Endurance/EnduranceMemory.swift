// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCurl

/// The memory and the descriptors of this process.
struct EnduranceMemory {
    /// What is in use, by the statistics of malloc and of the plugin's own blocks, in bytes.
    let live: Int
    /// What malloc keeps for later, in bytes: it is free, and mostly resident.
    let kept: Int
    /// The arenas that malloc has made for threads, the first one included.
    let arenas: Int
    let resident: Int
    /// How many descriptors are open, by kind: `socket`, `pipe`, `anon_inode:[eventfd]`, a path.
    let descriptors: [String: Int]

    init() throws {
        let state = try MallocState()
        live = state.live + CurlHandles.blockBytes
        kept = state.kept
        arenas = state.arenas
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .ascii)
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        resident = pages * Int(sysconf(Int32(_SC_PAGESIZE)))
        descriptors = try Self.descriptors()
    }

    private static func descriptors() throws -> [String: Int] {
        let folder = "/proc/self/fd"
        var counts: [String: Int] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            // That of the folder itself is closed by now.
            guard
                let target = try? FileManager.default.destinationOfSymbolicLink(
                    atPath: "\(folder)/\(name)")
            else { continue }
            let isNumbered = target.hasPrefix("socket:") || target.hasPrefix("pipe:")
            counts[isNumbered ? String(target.prefix { $0 != ":" }) : target, default: 0] += 1
        }
        return counts
    }

    /// The descriptors that are open now and were not before, by kind.
    func gained(since before: EnduranceMemory) -> [String: Int] {
        descriptors.merging(before.descriptors) { now, before in now - before }
            .filter { kind, count in count > 0 && descriptors[kind] != nil }
    }

    /// What stays resident once malloc has given back to the system what it keeps for later.
    static func trimmed() throws -> Int {
        typealias Function = @convention(c) (Int) -> CInt
        guard let symbol = unsafe dlsym(nil, "malloc_trim") else {
            throw EnduranceFailure("malloc cannot be trimmed here")
        }
        _ = unsafe unsafeBitCast(symbol, to: Function.self)(0)
        CurlHandles.trimMemory()
        return try EnduranceMemory().resident
    }

    /// The least of several looks: threads that are about to end, and what they hold, may take a
    /// moment.
    static func settled() async throws -> EnduranceMemory {
        // To sleep takes descriptors of its own: they are there at each look.
        try await Task.sleep(for: .milliseconds(30))
        var least = try EnduranceMemory()
        for _ in 0..<10 {
            try await Task.sleep(for: .milliseconds(30))
            let now = try EnduranceMemory()
            if now.live < least.live { least = now }
        }
        return least
    }
}

/// What glibc says of its allocator; its functions are in no module.
private struct MallocState {
    let live: Int
    let kept: Int
    let arenas: Int

    init() throws {
        typealias Function = @convention(c) (CInt, UnsafeMutablePointer<FILE>) -> CInt
        guard let symbol = unsafe dlsym(nil, "malloc_info"), let file = unsafe tmpfile() else {
            throw EnduranceFailure("malloc has no statistics here")
        }
        defer { unsafe fclose(file) }
        _ = unsafe unsafeBitCast(symbol, to: Function.self)(0, file)
        unsafe rewind(file)
        var text = [UInt8](repeating: 0, count: 1 << 20)
        let count = unsafe fread(&text, 1, text.count, file)
        // The last lines are the sums of all arenas; what is mapped is counted for itself.
        let lines = String(decoding: text[..<count], as: UTF8.self).split(separator: "\n")
        arenas = lines.count { $0.hasPrefix("<heap ") }
        let sums = lines.drop { $0 != "</heap>" }.reversed().prefix { $0 != "</heap>" }
        func size(_ element: String) throws -> Int {
            guard let line = sums.last(where: { $0.hasPrefix("<" + element) }),
                let value = line.split(separator: "\"").last(where: { Int($0) != nil })
            else { throw EnduranceFailure("malloc says nothing of \(element)") }
            return Int(value) ?? 0
        }
        // Newer versions of glibc have no fast bins.
        kept = try ((try? size("total type=\"fast\"")) ?? 0) + size("total type=\"rest\"")
        live = try size("system type=\"current\"") + size("total type=\"mmap\"") - kept
    }
}
