// SPDX-License-Identifier: Apache-2.0

import ChildProcess
import Foundation
import Turnpike

/// What runs of this program as children have gained, and whether it is too much.
struct EnduranceVerdict {
    // Of what was in use, and of what was resident without what malloc kept free: that part swings by
    // more than a tenth, and is no call's.
    private static let maxGrowth = (live: 0.02, resident: 0.1)
    // What was in use is less than 1 MiB, and a call that ends late is seen in it; a short run has not
    // met all there is before its first look. With a server of HTTP/2 bodies are held back at each
    // look, each with up to 0.2 MiB: on a busy machine 1.3 MiB at one look and none at another.
    private static let slackMiB = (long: 0.04, short: 0.25, heldBack: 1.5)
    // What is made once and kept, as for more calls at once than ever before, is a step or two: on a busy
    // machine 0.06 MiB came behind the first look, and nothing more. What is lost is lost in each tenth.
    private static let steps = (long: 2, short: 0)
    // What was measured with each arena that came late, and with it a thread: 0.09.
    private static let arenaMiB = 0.1
    // Of what is in use, by the client beside URLSession, which keeps 145 bytes of each request.
    private static let maxExcessMiB = 0.5
    // With fewer requests than this a tenth is too short to warm up, and it is half of them.
    private static let longRun = 50_000

    private let options: EnduranceOptions

    init(_ options: EnduranceOptions) { self.options = options }

    func run() throws {
        if let server = options.server, let authority = options.authority {
            try judge(figures(.curl, server, authority))
        } else {
            let server = try EnduranceServer()
            defer { server.end() }
            if options.isCurl {
                try judge(figures(.curl, server.url))
            } else {
                try compare(figures(.plain, server.url), alone: figures(.alone, server.url))
            }
        }
    }

    private func figures(_ way: EnduranceRun.Way, _ more: String...) throws -> JSONValue {
        let arguments =
            ["--run", way.rawValue, String(options.requests), String(options.mebibytes)]
            + more
        let (end, output, _) = try EnduranceServer.child(arguments).finish()
        guard end == .exited(0) else { throw EnduranceFailure("a run ended with \(end)") }
        return try JSONValue(parsing: output)
    }

    private func judge(_ figures: JSONValue) throws {
        report(figures)
        let arenas = try values(figures, "arenas")
        let lateArenas = (arenas.last ?? 0) - arenas[firstLook]
        let slack =
            isLong
            ? Self.slackMiB.long
            : options.server == nil ? Self.slackMiB.short : Self.slackMiB.heldBack
        try judge(
            figures, "liveMiB", since: firstLook, Self.maxGrowth.live,
            slack + lateArenas * Self.arenaMiB,
            withoutSteps: isLong ? Self.steps.long : Self.steps.short)
        // On a busy machine as many calls as can be are at work for the first time only after the
        // first look: 5 MiB of stacks and heaps of threads, of which nothing is lost.
        try judge(
            figures, "residentWithoutKeptMiB", since: max(firstLook, 2), Self.maxGrowth.resident,
            0)
        // Each lane keeps a connection, unless its last call has cut it.
        try checkDescriptors(figures, sockets: EnduranceRun.lanes)
    }

    private func judge(
        _ figures: JSONValue, _ name: String, since look: Int, _ share: Double, _ slack: Double,
        withoutSteps steps: Int = 0
    ) throws {
        let values = try values(figures, name)
        let first = values[look]
        // What is lost stays lost: one look among calls that end late is no growth.
        let lasting = values.indices.map { values[$0...].min() ?? .infinity }[look...7]
        let last = lasting[7]
        let rises = zip(lasting, lasting.dropFirst()).map { $1 - $0 }.sorted(by: >)
        let growth = last - first - rises.prefix(steps).reduce(0, +)
        // A growth that goes on is found as soon as without the steps.
        let part = Double(rises.count - steps) / Double(rises.count)
        if growth > (first * share + slack) * part {
            throw EnduranceFailure("\(name) has grown from \(first) to \(last)")
        }
    }

    private var isLong: Bool { options.requests >= Self.longRun }
    private var firstLook: Int { isLong ? 0 : 4 }

    private func values(_ figures: JSONValue, _ name: String) throws -> [Double] {
        let values = figures[name]?.array?.compactMap(\.double) ?? []
        guard values.count == 10 else { throw EnduranceFailure("there are no figures of \(name)") }
        return values
    }

    private func compare(_ client: JSONValue, alone: JSONValue) throws {
        let excess = try gain(client) - gain(alone)
        report([
            "client": client, "alone": alone, "excessMiB": EnduranceRun.number(excess),
        ])
        if excess > Self.maxExcessMiB {
            throw EnduranceFailure("\(excess) MiB more in use than URLSession alone")
        }
        try checkDescriptors(client, sockets: 0)
    }

    private func gain(_ figures: JSONValue) throws -> Double {
        let values = try values(figures, "liveMiB")
        return values[9] - values[firstLook]
    }

    // Of sockets as many as there are lanes may come and go with the connections.
    private func checkDescriptors(_ figures: JSONValue, sockets: Int) throws {
        for name in ["gainedDescriptors", "descriptorsLeft"] {
            for (kind, count) in try counts(figures, name) {
                let allowed = kind == "socket" && name == "gainedDescriptors" ? sockets : 0
                if count > allowed {
                    throw EnduranceFailure("\(name): \(count) of the kind \(kind)")
                }
            }
        }
    }

    private func counts(_ figures: JSONValue, _ name: String) throws -> [(String, Int)] {
        guard let object = figures[name]?.object else {
            throw EnduranceFailure("there are no figures of \(name)")
        }
        return object.map { ($0.name, $0.value.int ?? .max) }
    }

    private func report(_ figures: JSONValue) {
        let head: [(String, JSONValue)] = [
            ("program", "endurance"), ("requests", .number(JSONNumber(options.requests))),
        ]
        let members = figures.object.map { $0.map { ($0.name, $0.value) } } ?? []
        print(JSONValue.object(JSONObject(head + members)))
    }
}
