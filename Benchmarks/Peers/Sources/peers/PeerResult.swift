// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The medians of one client under one workload.
struct PeerResult: Codable {
    let workload: String
    let client: String
    let rps, cpuPer1000, p50us, p99us, peakRSS, mbps: Double
    let connections: Int

    private enum CodingKeys: String, CodingKey {
        case workload, client, rps, cpuPer1000, p50us, p99us, peakRSS
        case mbps = "MBps"
        case connections
    }

    init(_ workload: Workload, _ peer: Peer, _ samples: [Sample]) {
        func median(_ value: (Sample) -> Double) -> Double {
            let sorted = samples.map(value).sorted()
            return sorted.isEmpty ? 0 : sorted[sorted.count / 2]
        }
        self.workload = workload.name
        client = peer.rawValue
        rps = median(\.rps)
        cpuPer1000 = median(\.cpuPer1000)
        p50us = median(\.p50us)
        p99us = median(\.p99us)
        peakRSS = median(\.peakRSS)
        mbps = median(\.mbps)
        connections = Int(median { Double($0.connections) })
    }

    var json: String {
        String(
            format:
                #"{"bench":"peers","workload":"\#(workload)","client":"\#(client)","rps":%.3f,"#
                + #""cpuPer1000":%.5f,"p50us":%.0f,"p99us":%.0f,"peakRSS":%.1f,"MBps":%.1f,"#
                + #""connections":%d}"#,
            rps, cpuPer1000, p50us, p99us, peakRSS, mbps, connections)
    }

    /// Parses the output of `--json`.
    ///
    /// Skips other lines.
    static func read(_ file: String) throws -> [PeerResult] {
        guard let text = try? String(contentsOfFile: file, encoding: .utf8) else {
            throw PeerError("\(file) cannot be read")
        }
        return text.split(separator: "\n").compactMap {
            try? JSONDecoder().decode(PeerResult.self, from: Data($0.utf8))
        }
    }
}

extension [PeerResult] {
    /// The workloads in order, with their results.
    var byWorkload: [(workload: String, text: String, results: [PeerResult])] {
        var names: [String] = []
        for result in self where !names.contains(result.workload) { names.append(result.workload) }
        return names.map { name in
            let text = Workload.all.first { $0.name == name }?.text ?? ""
            return (name, text, filter { $0.workload == name })
        }
    }

    /// The result of AsyncHTTPClient with the most requests per second.
    var bestOfAHC: PeerResult? {
        filter { $0.client.hasPrefix("ahc") }.max { $0.rps < $1.rps }
    }

    /// Each workload as lines of text.
    var table: String {
        byWorkload.map { workload, text, results in
            let best = results.bestOfAHC
            let lines = results.map { result in
                let ratio = best.map {
                    String(
                        format: "%6.2f %6.2f", result.rps / $0.rps,
                        result.cpuPer1000 / $0.cpuPer1000)
                }
                let name = result.client.padding(toLength: 18, withPad: " ", startingAt: 0)
                let numbers = String(
                    format: "%10.1f %9.4f %8.0f %8.0f %8.1f %8.1f %6d ", result.rps,
                    result.cpuPer1000, result.p50us, result.p99us, result.peakRSS, result.mbps,
                    result.connections)
                return name + numbers + (ratio ?? "")
            }
            return "\n\(workload): \(text)\n" + Self.head + "\n" + lines.joined(separator: "\n")
        }.joined(separator: "\n")
    }

    private static let head =
        "client                 req/s  cpu/1000   p50 µs   p99 µs  RSS MiB     MB/s  conns  × ahc  × cpu"

    /// Tables for the README with all clients: requests per second, and CPU milliseconds per
    /// request.
    var markdown: String {
        let clients = Peer.allCases.map(\.rawValue).filter { name in
            contains { $0.client == name }
        }
        func rows(_ cell: (PeerResult, PeerResult?) -> String) -> String {
            let head = "| | " + clients.map { "`\($0)`" }.joined(separator: " | ") + " |\n"
            let rule = "|---|" + clients.map { _ in "---:|" }.joined() + "\n"
            let lines = byWorkload.map { workload, text, results in
                let cells = clients.map { client in
                    results.first { $0.client == client }.map { cell($0, results.bestOfAHC) } ?? ""
                }
                return "| \(workload): \(text) | " + cells.joined(separator: " | ") + " |\n"
            }
            return head + rule + lines.joined()
        }
        return "Requests a second (W4: 10⁶ bytes a second), and how often the better one of"
            + " AsyncHTTPClient's:\n\n"
            + rows { result, best in
                let value = result.workload == "W4" ? result.mbps : result.rps
                let ratio = best.map { String(format: " (%.2f)", result.rps / $0.rps) } ?? ""
                return String(format: "%.0f", value) + ratio
            } + "\nCPU-milliseconds of the client's process a request:\n\n"
            + rows { result, _ in
                String(format: result.cpuPer1000 < 100 ? "%.3g" : "%.0f", result.cpuPer1000)
            }
    }
}
