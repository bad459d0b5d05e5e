import Foundation
import Turnpike

/// What runs of this program as children have gained, and whether it is too much.
struct EnduranceVerdict {
    // Of what was in use, and of what was resident without what malloc kept free.
    private static let maxGrowth = (live: 0.02, resident: 0.1)
    // Of the former little is left behind the calls, and a thread that begins late brings a cache and
    // an arena of its own.
    private static let slackMiB = (live: 0.25, resident: 0.0)
    private static let maxExcessMiB = 3.0
    // With fewer requests than this a tenth is too short to warm up, and it is half of them.
    private static let longRun = 20_000

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
        return try JSONValue(parsing: Child(arguments).output())
    }

    private func judge(_ figures: JSONValue) throws {
        report(figures)
        try judge(figures, "liveMiB", Self.maxGrowth.live, Self.slackMiB.live)
        try judge(
            figures, "residentWithoutKeptMiB", Self.maxGrowth.resident, Self.slackMiB.resident)
        // Each lane keeps a connection, unless its last call has cut it.
        try checkDescriptors(figures, slack: EnduranceRun.lanes)
    }

    private func judge(_ figures: JSONValue, _ name: String, _ share: Double, _ slack: Double)
        throws
    {
        let values = figures[name]?.array?.compactMap(\.double) ?? []
        guard values.count == 10 else { throw EnduranceFailure("there are no figures of \(name)") }
        let first = values[options.requests < Self.longRun ? 4 : 0]
        // What is lost stays lost: one look among calls that end late is no growth.
        let last = values.suffix(3).min() ?? .infinity
        if last > first + max(first * share, slack) {
            throw EnduranceFailure("\(name) has grown from \(first) to \(last)")
        }
    }

    private func compare(_ client: JSONValue, alone: JSONValue) throws {
        let excess = (gain(client) ?? .infinity) - (gain(alone) ?? 0)
        report([
            "client": client, "alone": alone, "excessMiB": EnduranceRun.number(excess),
        ])
        if excess > Self.maxExcessMiB {
            throw EnduranceFailure("\(excess) MiB more than URLSession alone")
        }
        try checkDescriptors(client, slack: 0)
    }

    private func gain(_ figures: JSONValue) -> Double? {
        let values = figures["residentMiB"]?.array?.compactMap(\.double) ?? []
        guard let first = values.first, let last = values.last else { return nil }
        return last - first
    }

    private func checkDescriptors(_ figures: JSONValue, slack: Int) throws {
        guard let gained = figures["gainedDescriptors"]?.int, gained <= slack else {
            throw EnduranceFailure("there are more descriptors than at the beginning")
        }
    }

    private func report(_ figures: JSONValue) {
        let head: [(String, JSONValue)] = [
            ("program", "endurance"), ("requests", .number(JSONNumber(options.requests))),
        ]
        let members = figures.object.map { $0.map { ($0.name, $0.value) } } ?? []
        print(JSONValue.object(JSONObject(head + members)))
    }
}
