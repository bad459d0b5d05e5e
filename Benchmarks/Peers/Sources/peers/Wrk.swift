// SPDX-License-Identifier: Apache-2.0

import Foundation

/// wrk, which does little more than counting.
///
/// It shows the limit of the server.
///
/// It needs no warm-up.
struct Wrk {
    let workload: Workload
    let url: String
    let seconds: Double

    func run() throws -> Sample {
        let program = try Command.require("wrk", package: "wrk")
        let script =
            FileManager.default.temporaryDirectory.path + "/turnpike-peers-\(getpid()).lua"
        try lua.write(toFile: script, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: script) }
        let cpu = Usage.cpuSeconds(children: true)
        let text = try Command.output(
            of: program,
            [
                "-t1", "-c\(workload.concurrency)", "-d\(max(1, Int(seconds.rounded())))s",
                "-s", script, url,
            ], within: seconds + 30)
        let used = Usage.cpuSeconds(children: true) - cpu
        let words = text.components(separatedBy: "result:").last?.split(separator: " ") ?? []
        let numbers = words.compactMap { Double($0.trimmingCharacters(in: .newlines)) }
        guard numbers.count == 7 else { throw PeerError("wrk printed no result") }
        let count = Int(numbers[0])
        guard numbers[2] == 0, numbers[3] >= numbers[0] * Double(workload.bytes) else {
            throw PeerError("wrk: \(Int(numbers[2])) errors, \(Int(numbers[3])) bytes")
        }
        return Sample(
            workload, count: count, seconds: numbers[1] / 1e6, cpu: used, p50us: numbers[4],
            p99us: numbers[5], peakRSS: numbers[6] / 1024)
    }

    // The script reads the peak memory itself. The value of `wait4` would include the pages that
    // the child shared with its parent before it became wrk.
    private var lua: String {
        let post =
            workload.postBytes > 0
            ? "wrk.method = 'POST'; wrk.body = string.rep('p', \(workload.postBytes))\n" : ""
        return post + """
            done = function(summary, latency)
              local peak = 0
              for line in io.lines("/proc/self/status") do
                peak = tonumber(line:match("^VmHWM:%s+(%d+)")) or peak
              end
              local e = summary.errors
              io.write(string.format("result: %d %d %d %d %f %f %d\\n", summary.requests,
                summary.duration, e.connect + e.read + e.write + e.status + e.timeout,
                summary.bytes, latency:percentile(50), latency:percentile(99), peak))
            end
            """
    }
}
