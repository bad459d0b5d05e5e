// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation

/// The cost of a GET over loopback, compared with direct use of URLSession.
///
/// Each client has its own process, so that its memory and CPU time can be measured. Clients take
/// turns of a fraction of a second. They are compared within a round, because the load of the
/// machine changes between rounds.
struct LoopbackBench {
    private var url: String?
    private var rounds = 25
    private var seconds = 0.4

    private struct Cell: Hashable {
        let client: LoopbackClient.Kind
        let concurrency: Int
    }

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            guard let value = rest.popFirst() else { throw BenchError("\(option) needs a value") }
            switch option {
            case "--url": url = value
            case "--rounds": rounds = Int(value) ?? rounds
            case "--seconds": seconds = Double(value) ?? seconds
            default: throw BenchError("unknown option \(option)")
            }
        }
    }

    func run(_ report: Report) throws {
        let server = try url == nil ? ChildProcess.again([LoopbackServer.subcommand]) : nil
        defer { server?.kill() }
        guard let url = url ?? server?.readLine() else {
            throw BenchError("the server did not start")
        }
        var children: [Cell: ChildProcess] = [:]
        defer { for child in children.values { child.kill() } }
        for cell in cells { children[cell] = try start(cell, url) }
        var samples: [Cell: [LoopbackSample]] = [:]
        for round in 0..<rounds {
            // The order rotates, so that no client always runs after the same one.
            for index in cells.indices {
                let cell = cells[(index + round) % cells.count]
                guard let child = children[cell] else { continue }
                samples[cell, default: []].append(try measure(cell, child))
            }
        }
        for concurrency in [1, 64] {
            let base = samples[Cell(client: .raw, concurrency: concurrency)] ?? []
            for client in LoopbackClient.Kind.allCases {
                let cell = Cell(client: client, concurrency: concurrency)
                report.line(fields(cell, samples[cell] ?? [], base, report))
            }
        }
    }

    private let cells = [1, 64].flatMap { concurrency in
        LoopbackClient.Kind.allCases.map { Cell(client: $0, concurrency: concurrency) }
    }

    private func start(_ cell: Cell, _ url: String) throws -> ChildProcess {
        let child = try ChildProcess.again([
            LoopbackClient.subcommand, cell.client.rawValue, String(cell.concurrency), url,
            String(seconds),
        ])
        // The first turn is a warm-up.
        _ = try measure(cell, child)
        return child
    }

    private func measure(_ cell: Cell, _ child: ChildProcess) throws -> LoopbackSample {
        try child.send("go")
        guard let line = child.readLine(),
            let sample = try? JSONDecoder().decode(LoopbackSample.self, from: Data(line.utf8))
        else { throw BenchError("\(cell.client.rawValue) at \(cell.concurrency) gave no result") }
        return sample
    }

    private func fields(
        _ cell: Cell, _ samples: [LoopbackSample], _ base: [LoopbackSample], _ report: Report
    ) -> [(String, Report.Value)] {
        func middle(_ value: (LoopbackSample) -> Double) -> Double { median(samples.map(value)) }
        func ratio(_ value: (LoopbackSample) -> Double) -> Double {
            median(zip(samples, base).map { value($0) / value($1) })
        }
        var fields: [(String, Report.Value)] = [
            ("bench", "loopback"), ("client", .text(cell.client.rawValue)),
            ("concurrency", .number(Double(cell.concurrency))),
            ("rps", .number(middle(\.rps).rounded())),
            ("cpuPer1000", .number(middle(\.cpuPer1000))),
            ("p50us", .number(middle(\.p50us).rounded())),
            ("p99us", .number(middle(\.p99us).rounded())),
            ("peakRSS", .number((middle(\.peakRSS) * 10).rounded() / 10)),
        ]
        if !report.json {
            fields.append(("rpsRatio", .number(ratio(\.rps))))
            fields.append(("cpuRatio", .number(ratio(\.cpuPer1000))))
        }
        return fields
    }
}

/// The measurements of one client in one process.
struct LoopbackSample: Codable {
    let rps: Double
    /// CPU seconds (user and system) of the client's process per 1000 requests.
    let cpuPer1000: Double
    let p50us: Double
    let p99us: Double
    /// In MiB.
    let peakRSS: Double
}

struct BenchError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
