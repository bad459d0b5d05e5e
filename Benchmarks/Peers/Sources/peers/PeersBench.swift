// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Runs all clients under all workloads in turns, each run in its own process.
struct PeersBench {
    private var json = false
    private var rounds = 5
    private var seconds = 2.0
    private var workloads = Workload.all
    private var clients = Peer.allCases
    private var chart: String?

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            if option == "--json" {
                json = true
                continue
            }
            guard let value = rest.popFirst() else { throw PeerError("\(option) needs a value") }
            switch option {
            case "--only":
                workloads = try value.split(separator: ",").map { try Workload.named(String($0)) }
            case "--clients": clients = try Peer.list(value)
            case "--rounds":
                guard let count = Int(value), count > 0 else {
                    throw PeerError("--rounds needs a number of at least 1")
                }
                rounds = count
            case "--seconds":
                guard let time = Double(value), time > 0 else {
                    throw PeerError("--seconds is a time above 0")
                }
                seconds = time
            case "--svg": chart = value
            default: throw PeerError("unknown option \(option)")
            }
        }
    }

    func run() throws {
        #if DEBUG
        note("this is a debug build, so its figures are meaningless")
        #endif
        let server = try Nginx()
        defer { server.stop() }
        let clients = clients.filter { client in
            guard let reason = client.reasonToLeaveOut else { return true }
            note("without \(client.rawValue): \(reason)")
            return false
        }
        var results: [PeerResult] = []
        var faults = 0
        for workload in workloads {
            if workload.isSecure, server.authority == nil {
                note("without \(workload.name): openssl is not installed")
                continue
            }
            let samples = measure(clients.filter { $0.takesPart(in: workload) }, workload, server)
            for peer in clients {
                guard let samples = samples[peer] else { continue }
                guard samples.count == rounds else {
                    faults += 1
                    continue
                }
                results.append(PeerResult(workload, peer, samples))
            }
            let new = results.filter { $0.workload == workload.name }
            print(json ? new.map(\.json).joined(separator: "\n") : new.table)
            // Flushes each result at once, even to a pipe or a file.
            fflush(nil)
        }
        if let chart { try Chart(results).write(to: chart) }
        if faults > 0 { throw PeerError("\(faults) measurements failed; see above") }
    }

    /// Returns the samples of each client.
    ///
    /// There are fewer than rounds if runs failed.
    private func measure(
        _ clients: [Peer], _ workload: Workload, _ server: Nginx
    ) -> [Peer: [Sample]] {
        var samples: [Peer: [Sample]] = [:]
        var failed: Set<Peer> = []
        for round in 0..<rounds {
            // The order rotates, so that no client always runs after the same one.
            for index in clients.indices {
                let peer = clients[(index + round) % clients.count]
                if failed.contains(peer) { continue }
                do {
                    samples[peer, default: []].append(try measure(peer, workload, server))
                } catch {
                    note(
                        "\(peer.rawValue) failed in \(workload.name), round \(round + 1): \(error)")
                    samples[peer, default: []] += []
                    failed.insert(peer)
                }
            }
        }
        return samples
    }

    private func measure(_ peer: Peer, _ workload: Workload, _ server: Nginx) throws -> Sample {
        let before = try server.connections()
        let text = try Command.output(
            of: try Command.own,
            [
                PeerRun.subcommand, peer.rawValue, workload.name, server.url(workload),
                server.authority ?? "", String(seconds),
            ], within: seconds + 120)
        var sample = try JSONDecoder().decode(Sample.self, from: Data(text.utf8))
        // The query itself also took a connection.
        sample.connections = try server.connections() - before - 1
        return sample
    }
}

/// Prints the output of `--json` runs as tables and a chart: `peers chart FILE… [--svg FILE]`.
struct PeersChart {
    private var results: [PeerResult] = []
    private var chart: String?

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--svg" {
                chart = rest.popFirst()
            } else {
                results += try PeerResult.read(argument)
            }
        }
        if results.isEmpty { throw PeerError("usage: peers chart FILE… [--svg FILE]") }
    }

    func run() throws {
        print(results.markdown)
        if let chart { try Chart(results).write(to: chart) }
    }
}
