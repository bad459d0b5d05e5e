// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCurl

/// The open descriptors of this process.
enum Descriptors {
    static var count: Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count) ?? 0
    }

    /// The count once it is good, or has not changed for a second.
    static func settled(_ isGood: (Int) -> Bool) async -> Int {
        var last = count
        var unchanged = 0
        while unchanged < 50, !isGood(last) {
            try? await Task.sleep(for: .milliseconds(20))
            let now = count
            unchanged = now == last ? unchanged + 1 : 0
            last = now
        }
        return last
    }
}

/// A directory of this process alone.
struct PrivateDirectory {
    let path: String

    init() throws {
        let url = FileManager.default.temporaryDirectory.appending(
            path: "turnpike-storm-" + UUID().uuidString)
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        path = url.path(percentEncoded: false)
    }

    var files: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] }

    func remove() { try? FileManager.default.removeItem(atPath: path) }
}

/// The memory of this process in MiB; 0 where `/proc` does not tell.
enum ProcessMemory {
    /// What is resident, once what is free was given back to the system.
    static func settled() async -> Double {
        // Threads that are about to end, and what they hold, may take a moment.
        var least = Double.infinity
        for _ in 0..<10 {
            try? await Task.sleep(for: .milliseconds(100))
            trim()
            CurlHandles.trimMemory()
            least = min(least, resident)
        }
        return least
    }

    /// Has glibc give memory back: it would keep what is free for later, in many arenas, and a leak
    /// would not be seen beside that.
    ///
    /// To be called before the memory is used. Its functions are in no module.
    static func keepTight() {
        typealias Function = @convention(c) (CInt, CInt) -> CInt
        guard let symbol = unsafe dlsym(nil, "mallopt") else { return }
        let set = unsafe unsafeBitCast(symbol, to: Function.self)
        let (arenaMax, mmapThreshold): (CInt, CInt) = (-8, -3)
        _ = set(arenaMax, 1)
        _ = set(mmapThreshold, 65_536)
    }

    private static func trim() {
        typealias Function = @convention(c) (Int) -> CInt
        guard let symbol = unsafe dlsym(nil, "malloc_trim") else { return }
        _ = unsafe unsafeBitCast(symbol, to: Function.self)(0)
    }

    private static var resident: Double {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .ascii)) ?? ""
        let pages = text.split(separator: " ").dropFirst().first.flatMap { Double($0) } ?? 0
        return pages * Double(sysconf(Int32(_SC_PAGESIZE))) / 1_048_576
    }

    /// The most that was resident.
    static var peakMiB: Double {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        let kibibytes = line?.split(separator: " ").dropFirst().first.flatMap { Double($0) }
        return (kibibytes ?? 0) / 1024
    }
}
