// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

@Suite("Metrics and logs, from several threads")
struct MetricsStoreConcurrencyTests {
    @Test("A thousand calls at once are all counted, while others read the store")
    func metrics() async {
        let store = MetricsStore()
        let sink = MemoryLogSink()
        let client = Client(
            MockTransport(recordLimit: 0) { request in
                request.url.path() == "/lost" ? .status(500) : .ok(text: "12345")
            }, [.metrics(store), .log(to: sink)])
        await withTaskGroup { group in
            for number in 0..<1000 {
                group.addTask {
                    let path = number % 4 == 0 ? "lost" : "found"
                    let call = client.get(Target("http://a.example/" + path))
                    _ = try? await call.serialize(with: Text())
                    if number % 50 == 0 { _ = store.prometheusText.count + store.active.count }
                }
            }
        }
        let byStatus = Dictionary(
            uniqueKeysWithValues: store.series.map { ($0.key.status, $0.value) })
        #expect(byStatus[500]?.duration.count == 250)
        #expect(byStatus[200]?.duration.count == 750)
        #expect(byStatus[200]?.responseBodySize.sum == 3750)
        #expect(store.active.isEmpty)
        #expect(sink.lines.count == 1000)
    }

    @Test("A sink under load writes whole lines, and reports how many it dropped")
    func sink() async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        let sink = try LineSink(appendingTo: file.path(), capacity: 8)
        await withTaskGroup { group in
            for task in 0..<4 {
                group.addTask {
                    for number in 0..<500 { sink.write("line \(task) \(number)") }
                }
            }
        }
        await sink.flush()
        sink.write("last")
        await sink.flush()
        let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
        let dropped = lines.compactMap { $0.wholeMatch(of: /\((\d+) lines dropped\)/)?.1 }
            .reduce(0) { $0 + (Int($1) ?? 0) }
        let written = lines.count { $0.wholeMatch(of: /line \d \d+/) != nil }
        #expect(written + dropped == 2000)
        #expect(lines.last == "last")
    }
}
