import Foundation

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

/// The memory of this process.
enum ProcessMemory {
    /// The most that was resident; 0 where `/proc` does not tell.
    static var peakMiB: Double {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        let kibibytes = line?.split(separator: " ").dropFirst().first.flatMap { Double($0) }
        return (kibibytes ?? 0) / 1024
    }
}
