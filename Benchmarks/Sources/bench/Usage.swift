// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The resources that this process has used so far.
enum Usage {
    /// CPU time in seconds, user and system.
    static var cpuSeconds: Double {
        var usage = rusage()
        #if canImport(Glibc)
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        #else
        getrusage(CInt(RUSAGE_SELF), &usage)
        #endif
        return seconds(usage.ru_utime) + seconds(usage.ru_stime)
    }

    private static func seconds(_ time: timeval) -> Double {
        Double(time.tv_sec) + Double(time.tv_usec) / 1e6
    }

    /// The peak resident memory in MiB; 0 if `/proc` does not contain it.
    static var peakRSS: Double {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        let kibibytes = line?.split(separator: " ").dropFirst().first.flatMap { Double($0) }
        return (kibibytes ?? 0) / 1024
    }
}
