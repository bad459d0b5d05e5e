import Foundation
import Turnpike

/// The main job against a URL of the caller's.
struct Visit {
    let url: String

    func run() async throws {
        let metrics = MetricsStore()
        let client = Client(stack: stack(metrics: metrics))
        let response = try await client.get(Target(url)).response()
        print("\(response.status) from \(response.url.host() ?? "?"), \(response.attempts) sends")
        var count = 0
        for try await chunk in response.body { count += chunk.count }
        print("\(response.headers[.contentType] ?? "no type"), \(count) bytes")
        show(response.timeline)
        await client.shutdown(grace: .seconds(1))
        report(metrics)
    }
}
