// SPDX-License-Identifier: Apache-2.0

import Turnpike

/// What a part of the storm has come to, and what the process holds behind it.
struct StormPart {
    let tally: StormTally
    let closeTimes: [Double]
    let pooled: Int
    let seconds: Double
    /// libcurl's handles, while the transport has nothing to do.
    let handles: Int
    /// In MiB, resident.
    let memory: Double

    // What fewer calls bring is the price of warming up.
    private static let leastWarmUp = 5000
    private static let maxGrowth = 4.0

    /// What is wrong with the handles or the memory, or nil.
    func fault(_ options: StormOptions, since first: StormPart) -> String? {
        if handles > options.transport.maxIdleHandles { return "\(handles) handles are left" }
        guard hasGrown(options, since: first) else { return nil }
        return "the process has grown by \(memory - first.memory) MiB"
    }

    func hasGrown(_ options: StormOptions, since first: StormPart) -> Bool {
        options.warmUp >= Self.leastWarmUp && memory - first.memory > Self.maxGrowth
    }

    func figures(
        _ options: StormOptions, since first: StormPart, descriptors: (before: Int, after: Int),
        connections: Int, calls: Int
    ) -> JSONValue {
        [
            "program": "storm", "transport": .string(options.transport.rawValue),
            "count": whole(options.count), "warmUp": whole(options.warmUp),
            "seed": .number(JSONNumber(options.seed)), "concurrency": whole(options.concurrency),
            "ends": tally.ends,
            "cancelMilliseconds": spread(tally.times), "closeMilliseconds": spread(closeTimes),
            "callsThroughChain": whole(calls),
            "descriptors": [
                "before": whole(descriptors.before), "pooled": whole(pooled),
                "after": whole(descriptors.after),
            ],
            "handles": [
                "pooled": whole(handles), "after": whole(options.transport.handles),
            ],
            "memoryMiB": [
                "resident": number(memory), "growth": number(memory - first.memory),
            ],
            "connections": whole(connections), "seconds": number(seconds),
            "peakMiB": number(ProcessMemory.peakMiB),
        ]
    }

    /// Of times in milliseconds, and the share of those within 50.
    private func spread(_ times: [Double]) -> JSONValue {
        let times = times.sorted()
        if times.isEmpty { return .null }
        func time(_ share: Double) -> JSONValue {
            number(times[Int(Double(times.count - 1) * share)])
        }
        let within = Double(times.count { $0 <= 50 }) / Double(times.count)
        return [
            "count": whole(times.count), "p50": time(0.5), "p99": time(0.99), "max": time(1),
            "within50": number(within),
        ]
    }

    private func whole(_ value: Int) -> JSONValue { .number(JSONNumber(value)) }

    private func number(_ value: Double) -> JSONValue {
        JSONNumber((value * 1000).rounded() / 1000).map(JSONValue.number) ?? .null
    }
}
