// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore

extension TransportConformance {
    static var ends: [Check] {
        [
            ending("Cancelling the task that waits for a head closes the connection") { road in
                let call = Task { try await road.content(of: road.get("silence")) }
                try await road.server.waitForRequests(1)
                call.cancel()
                try await requireCancellation { _ = try await call.value }
            },
            ending("Cancelling the task that reads a body closes the connection") { road in
                let read = AsyncStream.makeStream(of: Void.self)
                let call = Task {
                    for try await _ in try await road.get("endless").response().body {
                        read.continuation.yield()
                    }
                }
                for await _ in read.stream.prefix(2) {}
                call.cancel()
                try await requireCancellation { try await call.value }
            },
            ending("Dropping a response closes the connection") { road in
                _ = try await road.get("endless").response()
            },
            ending("Dropping an iterator closes the connection while the response lives") {
                road in
                let response = try await road.get("endless").response()
                for try await _ in response.body { break }
                try await road.server.wait { $0.abandoned == 1 }
                withExtendedLifetime(response) {}
            },
            ending("Cancelling the context ends a wait for the head with the reason") { road in
                struct Reason: Error {}
                let context = Context()
                let request = Request(.get, "silence", relativeTo: road.server.url)
                let call = Task { try await road.transport.send(request, context: context) }
                try await road.server.waitForRequests(1)
                context.cancel(.failed(Reason()))
                let error = try await error { _ = try await call.value }
                try require(error is Reason, "it fails with \(error)")
            },
            ending("Cancelling the context ends a body with the reason") { road in
                struct Reason: Error {}
                let context = Context()
                let request = Request(.get, "endless", relativeTo: road.server.url)
                let response = try await road.transport.send(request, context: context)
                let error = try await error {
                    var count = 0
                    for try await _ in response.body {
                        count += 1
                        if count == 3 { context.cancel(.failed(Reason())) }
                    }
                }
                try require(error is Reason, "it fails with \(error)")
            },
            ending("Cancelling an upload that the server does not read closes the connection") {
                road in
                let call = Task {
                    // Fits into the socket buffers; with more, the server would not see the end of
                    // the connection.
                    try await road.content(
                        of: road.client.post(
                            "upload", body: .data(Data(count: 50_000)),
                            headers: ["Expect": "100-continue"]))
                }
                try await road.server.waitForRequests(1)
                call.cancel()
                try await requireCancellation { _ = try await call.value }
            },
            check("A task that is already cancelled sends nothing") { road in
                let call = Task {
                    unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
                    return try await road.content(of: road.get("/"))
                }
                try await requireCancellation { _ = try await call.value }
                try require(road.server.counts.requests == 0, "a request was sent")
            },
            check("A connection is reused after its body was read completely") { road in
                road.server.fallback(.text("x"))
                for _ in 0..<20 { _ = try await road.content(of: road.get("/")) }
                try require(
                    road.server.counts.accepted == 1,
                    "20 calls in a row took \(road.server.counts.accepted) connections")
            },
        ]
    }

    // Abandons a transfer, then expects the server to notice and the transport to keep working.
    private static func ending(
        _ name: String, _ body: @escaping @Sendable (Road) async throws -> Void
    ) -> Check {
        check(name) { road in
            road.server.route("/silence", .silence)
            road.server.route("/endless", .endless())
            road.server.route("/upload", .silence.withoutReading())
            road.server.route("/ok", .text("fine"))
            try await body(road)
            try await road.server.wait { $0.abandoned == 1 }
            let text = try await road.text(of: road.get("ok"))
            try require(text == "fine", "the transport does not work afterwards")
        }
    }
}
