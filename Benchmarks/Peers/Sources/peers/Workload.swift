// SPDX-License-Identifier: Apache-2.0

/// A workload for each client.
struct Workload: Sendable {
    let name: String
    let text: String
    let path: String
    let concurrency: Int
    /// The number of content bytes in the response.
    let bytes: Int
    var postBytes = 0
    /// If it is not 0, this number of requests is sent, instead of requests for a period.
    var count = 0
    var isSecure = false

    static let all = [
        Workload(name: "W1", text: "1 KiB, one at a time", path: "1k", concurrency: 1, bytes: 1024),
        Workload(name: "W2", text: "1 KiB, 64 at once", path: "1k", concurrency: 64, bytes: 1024),
        Workload(
            name: "W3", text: "64 KiB, 64 at once", path: "64k", concurrency: 64, bytes: 65_536),
        Workload(
            name: "W4", text: "1 GiB down", path: "1g", concurrency: 1, bytes: 1 << 30, count: 2),
        Workload(
            name: "W5", text: "1 MiB up, 8 at once", path: "sink", concurrency: 8, bytes: 0,
            postBytes: 1 << 20),
        Workload(name: "W6", text: "1 KiB, 256 at once", path: "1k", concurrency: 256, bytes: 1024),
        Workload(
            name: "H2", text: "1 KiB, 64 at once, HTTP/2 over TLS", path: "1k", concurrency: 64,
            bytes: 1024, isSecure: true),
    ]

    static func named(_ name: String) throws -> Workload {
        guard let workload = all.first(where: { $0.name == name }) else {
            throw PeerError(
                "there is no workload \(name), but " + all.map(\.name).joined(separator: ", "))
        }
        return workload
    }

    /// Whether bytes per second are more meaningful than requests per second.
    var isLarge: Bool { bytes > 1 << 20 }
}
