import Foundation

/// What is asked of each client.
struct Workload: Sendable {
    let name: String
    let path: String
    let concurrency: Int
    /// The bytes of content that come back.
    let bytes: Int
    var postBytes = 0
    /// A number of requests instead of a time.
    var count = 0
    var isSecure = false

    static let all = [
        Workload(name: "W1", path: "1k", concurrency: 1, bytes: 1024),
        Workload(name: "W2", path: "1k", concurrency: 64, bytes: 1024),
        Workload(name: "W3", path: "64k", concurrency: 64, bytes: 65_536),
        Workload(name: "W4", path: "1g", concurrency: 1, bytes: 1 << 30, count: 2),
        Workload(name: "W5", path: "sink", concurrency: 8, bytes: 0, postBytes: 1 << 20),
        Workload(name: "W6", path: "1k", concurrency: 256, bytes: 1024),
        Workload(name: "H2", path: "1k", concurrency: 64, bytes: 1024, isSecure: true),
    ]

    static func named(_ name: String) -> Workload? { all.first { $0.name == name } }
}

/// What one client did in one process.
struct Sample: Codable {
    let rps: Double
    /// CPU-seconds of the client's process, user and system, for 1000 requests.
    let cpuPer1000: Double
    let p50us: Double
    let p99us: Double
    /// In MiB.
    let peakRSS: Double
    /// Content in either direction, in 10⁶ bytes a second.
    let mbps: Double

    init(latencies: [Double], seconds: Double, cpu: Double, bytes: Int) {
        let sorted = latencies.sorted()
        let count = Double(max(sorted.count, 1))
        rps = Double(sorted.count) / seconds
        cpuPer1000 = cpu / count * 1000
        p50us = sorted.isEmpty ? 0 : sorted[sorted.count / 2]
        p99us = sorted.isEmpty ? 0 : sorted[sorted.count * 99 / 100]
        peakRSS = Usage.peakRSS
        mbps = Double(bytes) * Double(sorted.count) / seconds / 1e6
    }

    init(rps: Double, cpuPer1000: Double, p50us: Double, p99us: Double, mbps: Double) {
        self.rps = rps
        self.cpuPer1000 = cpuPer1000
        self.p50us = p50us
        self.p99us = p99us
        self.mbps = mbps
        peakRSS = 0
    }
}

/// What this process has used so far.
enum Usage {
    static func cpuSeconds(children: Bool = false) -> Double {
        var usage = rusage()
        #if canImport(Glibc)
        getrusage(
            __rusage_who_t((children ? RUSAGE_CHILDREN : RUSAGE_SELF).rawValue), &usage)
        #else
        getrusage(children ? RUSAGE_CHILDREN : RUSAGE_SELF, &usage)
        #endif
        return [usage.ru_utime, usage.ru_stime].reduce(0) {
            $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6
        }
    }

    static var peakRSS: Double {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        let kibibytes = line?.split(separator: " ").dropFirst().first.flatMap { Double($0) }
        return (kibibytes ?? 0) / 1024
    }
}

struct PeerError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
