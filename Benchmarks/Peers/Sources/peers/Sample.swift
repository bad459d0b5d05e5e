// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The measurements of one client in one process.
struct Sample: Codable {
    let rps: Double
    /// CPU seconds (user and system) of the client's process per 1000 requests.
    let cpuPer1000: Double
    let p50us: Double
    let p99us: Double
    /// In MiB.
    let peakRSS: Double
    /// The larger of the contents of request and response, in 10⁶ bytes per second.
    let mbps: Double
    /// The number of connections, including the warm-up.
    ///
    /// The measuring process counts them.
    var connections = 0

    /// Creates a sample from the requests of this process, with latencies in microseconds.
    init(_ workload: Workload, latencies: [Double], seconds: Double, cpu: Double) {
        let sorted = latencies.sorted()
        self.init(
            workload, count: sorted.count, seconds: seconds, cpu: cpu,
            p50us: sorted.isEmpty ? 0 : sorted[sorted.count / 2],
            p99us: sorted.isEmpty ? 0 : sorted[sorted.count * 99 / 100], peakRSS: Usage.peakRSS)
    }

    init(
        _ workload: Workload, count: Int, seconds: Double, cpu: Double, p50us: Double,
        p99us: Double, peakRSS: Double
    ) {
        rps = Double(count) / seconds
        cpuPer1000 = cpu / Double(max(count, 1)) * 1000
        self.p50us = p50us
        self.p99us = p99us
        self.peakRSS = peakRSS
        mbps = rps * Double(max(workload.bytes, workload.postBytes)) / 1e6
    }
}

/// The resources that this process has used so far.
enum Usage {
    /// The CPU time (user and system) in seconds of this process, or of its ended children.
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

    /// The peak resident memory in MiB; 0 if `/proc` does not contain it.
    static var peakRSS: Double {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        let kibibytes = line?.split(separator: " ").dropFirst().first.flatMap { Double($0) }
        return (kibibytes ?? 0) / 1024
    }
}
