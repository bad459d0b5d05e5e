import CurlLoop
import Foundation

/// One client under one workload, in a process of its own.
struct PeerRun {
    static let subcommand = "run"

    let peer: Peer
    let workload: Workload
    let url: URL
    let authority: String
    let seconds: Double

    init(_ arguments: [String]) throws {
        guard arguments.count == 5, let peer = Peer(rawValue: arguments[0]),
            let workload = Workload.named(arguments[1]), let url = URL(string: arguments[2]),
            let seconds = Double(arguments[4])
        else { throw PeerError("usage: peers \(Self.subcommand) CLIENT WORKLOAD URL CA SECONDS") }
        self.peer = peer
        self.workload = workload
        self.url = url
        authority = arguments[3]
        self.seconds = seconds
    }

    func run() async throws {
        let sample =
            switch peer {
            case .libcurl: try libcurl()
            case .wrk: try wrk()
            default: try await swift()
            }
        print(String(decoding: try JSONEncoder().encode(sample), as: UTF8.self))
    }

    private func swift() async throws -> Sample {
        let exchange = try peer.exchange(workload, url, authority: authority)
        if workload.count == 0 { _ = try await load(exchange, seconds: 0.5) }
        let cpu = Usage.cpuSeconds()
        let begin = ContinuousClock.now
        let latencies = try await load(exchange, seconds: seconds)
        return Sample(
            latencies: latencies, seconds: (ContinuousClock.now - begin) / .seconds(1),
            cpu: Usage.cpuSeconds() - cpu, bytes: max(workload.bytes, workload.postBytes))
    }

    private func load(_ exchange: @escaping Exchange, seconds: Double) async throws -> [Double] {
        let clock = ContinuousClock()
        let end = clock.now + .seconds(seconds)
        let workload = workload
        return try await withThrowingTaskGroup(of: [Double].self) { group in
            for _ in 0..<workload.concurrency {
                group.addTask {
                    var latencies: [Double] = []
                    var now = clock.now
                    while workload.count > 0 ? latencies.count < workload.count : now < end {
                        let count = try await exchange()
                        let after = clock.now
                        guard count == workload.bytes else {
                            throw PeerError("\(count) bytes came instead of \(workload.bytes)")
                        }
                        latencies.append((after - now) / .microseconds(1))
                        now = after
                    }
                    return latencies
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
    }

    private func libcurl() throws -> Sample {
        var latencies = [Double](repeating: 0, count: 2_000_000)
        var bytes: Int64 = 0
        let cpu = Usage.cpuSeconds()
        let begin = ContinuousClock.now
        let count = curl_loop_run(
            url.absoluteString, workload.isSecure ? authority : nil, Int32(workload.concurrency),
            seconds, workload.postBytes, workload.count, &latencies, latencies.count, &bytes)
        guard count > 0 else { throw PeerError("libcurl failed: \(count)") }
        return Sample(
            latencies: Array(latencies.prefix(count)),
            seconds: (ContinuousClock.now - begin) / .seconds(1), cpu: Usage.cpuSeconds() - cpu,
            bytes: max(workload.bytes, workload.postBytes))
    }

    private func wrk() throws -> Sample {
        let cpu = Usage.cpuSeconds(children: true)
        let text = try output(
            of: "wrk",
            [
                "-t1", "-c\(workload.concurrency)", "-d\(max(1, Int(seconds.rounded())))s",
                "--latency", url.absoluteString,
            ])
        func word(after label: String, _ index: Int = 0) -> String {
            let rest = text.components(separatedBy: label).dropFirst().first ?? ""
            return rest.split(whereSeparator: \.isWhitespace).dropFirst(index).first.map(
                String.init) ?? ""
        }
        func microseconds(_ text: String) -> Double {
            let number = Double(text.prefix { $0.isNumber || $0 == "." }) ?? 0
            if text.hasSuffix("us") { return number }
            return number * (text.hasSuffix("ms") ? 1000 : 1_000_000)
        }
        guard let rps = Double(word(after: "Requests/sec:")) else {
            throw PeerError("wrk: \(text)")
        }
        let used = Usage.cpuSeconds(children: true) - cpu
        return Sample(
            rps: rps, cpuPer1000: used / (rps * seconds) * 1000,
            p50us: microseconds(word(after: "50%")), p99us: microseconds(word(after: "99%")),
            mbps: rps * Double(workload.bytes) / 1e6)
    }
}

/// Runs a command to its end and gives what it printed.
func output(of command: String, _ arguments: [String]) throws -> String {
    let process = Process()
    let pipe = Pipe()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [command] + arguments
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw PeerError("\(command) failed") }
    return String(decoding: data, as: UTF8.self)
}
