import Foundation

/// All clients under all workloads, in turns, each time in a process of its own.
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
                workloads = try value.split(separator: ",").map { name in
                    guard let workload = Workload.named(String(name)) else {
                        throw PeerError("there is no workload \(name)")
                    }
                    return workload
                }
            case "--clients":
                clients = value.split(separator: ",").compactMap { Peer(rawValue: String($0)) }
            case "--rounds": rounds = Int(value) ?? rounds
            case "--seconds": seconds = Double(value) ?? seconds
            case "--svg": chart = value
            default: throw PeerError("unknown option \(option)")
            }
        }
    }

    func run() throws {
        let server = try Nginx()
        defer { server.stop() }
        var results: [Result] = []
        for workload in workloads {
            let clients = clients.filter { $0.takesPart(in: workload) }
            var samples: [Peer: [Sample]] = [:]
            for round in 0..<rounds {
                // Who comes first changes, so that no client always runs behind the same one.
                for index in clients.indices {
                    let peer = clients[(index + round) % clients.count]
                    samples[peer, default: []].append(try measure(peer, workload, server))
                }
            }
            for peer in clients {
                let result = Result(workload, peer, samples[peer] ?? [])
                results.append(result)
                if json { print(result.json) }
            }
            if !json { printTable(results.filter { $0.workload == workload.name }) }
        }
        if let chart {
            try Chart(results).svg.write(toFile: chart, atomically: true, encoding: .utf8)
        }
    }

    private func measure(_ peer: Peer, _ workload: Workload, _ server: Nginx) throws -> Sample {
        guard let path = Bundle.main.executablePath else { throw PeerError("no executable") }
        let text = try output(
            of: path,
            [
                PeerRun.subcommand, peer.rawValue, workload.name, server.url(workload),
                server.authority, String(seconds),
            ])
        return try JSONDecoder().decode(Sample.self, from: Data(text.utf8))
    }

    private func printTable(_ results: [Result]) {
        let best = results.filter { $0.client.hasPrefix("ahc") }.max { $0.rps < $1.rps }
        print("\n\(results.first?.workload ?? "")")
        print(
            "client                 req/s   cpu/1000    p50 µs    p99 µs  RSS MiB     MB/s  × ahc")
        for result in results {
            let ratio = best.map {
                String(
                    format: "%.2f, cpu %.2f", result.rps / $0.rps, result.cpuPer1000 / $0.cpuPer1000
                )
            }
            let name = result.client.padding(toLength: 18, withPad: " ", startingAt: 0)
            print(
                name
                    + String(
                        format: "%10.0f %10.4f %9.0f %9.0f %8.1f %8.0f  ", result.rps,
                        result.cpuPer1000, result.p50us, result.p99us, result.peakRSS,
                        result.mbps) + (ratio ?? ""))
        }
    }
}

/// The medians of one client under one workload.
struct Result {
    let workload: String
    let client: String
    let rps, cpuPer1000, p50us, p99us, peakRSS, mbps: Double

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
    }

    var json: String {
        String(
            format:
                #"{"bench":"peers","workload":"\#(workload)","client":"\#(client)","rps":%.1f,"cpuPer1000":%.5f,"p50us":%.0f,"p99us":%.0f,"peakRSS":%.1f,"MBps":%.1f}"#,
            rps, cpuPer1000, p50us, p99us, peakRSS, mbps)
    }
}
