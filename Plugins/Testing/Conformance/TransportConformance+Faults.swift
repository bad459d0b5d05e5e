// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore

extension TransportConformance {
    static var faults: [Check] {
        [
            check("A refused connection is an error that says that nothing was sent") { road in
                road.server.stop()
                let error = try await requireError(.connection) {
                    _ = try await road.content(of: road.client.post("/", body: .text("x")))
                }
                try require(
                    error.transfer?.isUnsent == true, "the error does not say that nothing was sent"
                )
            },
            check("An unknown host name is an error that says that nothing was sent") { road in
                let error = try await requireError(.dns, .connection) {
                    _ = try await road.content(of: road.get("http://no-such-host.invalid/"))
                }
                try require(
                    error.transfer?.isUnsent == true, "the error does not say that nothing was sent"
                )
            },
            check("A connection closed without a response is an error of a sent request") {
                road in
                road.server.route("/", .close)
                let error = try await requireError(.connection, .incomplete) {
                    _ = try await road.content(of: road.client.post("/", body: .text("x")))
                }
                try require(
                    error.transfer?.isUnsent == false, "the error says that nothing was sent")
                try require(road.server.requests.count == 1, "the request was sent again")
            },
            check("A response that is not HTTP is a protocol error") { road in
                for bytes in [
                    "SSH-2.0-OpenSSH_9\r\n", "garbage\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n",
                ] {
                    road.server.route("/", .raw(Data(bytes.utf8)))
                    try await requireError(.protocol) {
                        _ = try await road.content(of: road.get("/"))
                    }
                }
            },
            check("Lengths that contradict each other are refused") { road in
                for lengths in ["2\r\nContent-Length: 3", "3, 2"] {
                    let head = "HTTP/1.1 200 OK\r\nContent-Length: \(lengths)\r\n\r\nabc"
                    road.server.route("/", .raw(Data(head.utf8)))
                    try await requireError(.protocol, .incomplete) {
                        _ = try await road.content(of: road.get("/"))
                    }
                }
            },
        ]
    }

    static var life: [Check] {
        [
            check("A hundred calls at once each get their own response") { road in
                road.server.fallback(.handler { .ok(text: $0.target) })
                try await withThrowingTaskGroup { group in
                    for index in 0..<100 {
                        group.addTask {
                            let text = try await road.text(of: road.get(Target("call/\(index)")))
                            try require(text == "/call/\(index)", "call \(index) got \(text)")
                        }
                    }
                    try await group.waitForAll()
                }
            },
            check("The timeline contains the phases in order") { road in
                road.server.route("/", .ok(text: "x"))
                let response = try await road.get("/").response()
                _ = try await response.body.collect(upTo: 10)
                let line = response.timeline
                let moments = [line.start, line.sent, line.head, line.bodyEnd]
                try require(!moments.contains(nil), "a moment is missing")
                let known = moments.compactMap(\.self)
                try require(known == known.sorted(), "the moments are not in order")
                try require(line.bodyBytesReceived == 1, "the size of the content is not known")
            },
            check("A shutdown ends the calls under way, and later calls fail") { road in
                road.server.route("/silence", .silence)
                let call = Task { try await road.content(of: road.get("silence")) }
                try await road.server.waitForRequests(1)
                await road.transport.shutdown()
                _ = try await error { _ = try await call.value }
                try await requireError(.cancelled) {
                    _ = try await road.content(of: road.get("silence"))
                }
                await road.transport.shutdown()
            },
            check("A live body is sent while it is produced, or refused before sending") { road in
                road.server.fallback(.echo)
                let body = RequestBody.stream(live: true) { Self.stream("a", "b") }
                let call = road.client.post("/", body: body)
                if road.transport.capabilities.contains(.liveUpload) {
                    let echo = try JSONValue(parsing: try await road.content(of: call))
                    try require(echo["body"] == "ab", "the content differs")
                } else {
                    try await requireError(.unsupported) { _ = try await road.content(of: call) }
                    try require(road.server.counts.requests == 0, "a request was sent")
                }
            },
        ]
    }
}

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
            ending("Cancelling the task that reads stalled content closes the connection") { road in
                let part = Data("a part".utf8)
                road.server.route(
                    "/stalled", .chunked([part, part], holding: TestHold(), before: 1))
                let response = try await road.get("stalled").response()
                let read = AsyncStream.makeStream(of: Void.self)
                let call = Task {
                    for try await _ in response.body { read.continuation.yield() }
                }
                for await _ in read.stream.prefix(1) {}
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
                try require(error is Reason, "the error is \(error)")
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
                try require(error is Reason, "the error is \(error)")
            },
            ending("Cancelling an upload that the server does not read closes the connection") {
                road in
                let call = Task {
                    // The content fits into the socket buffers. With more content, the server would
                    // not notice the end of the connection.
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
                road.server.fallback(.ok(text: "x"))
                for _ in 0..<20 { _ = try await road.content(of: road.get("/")) }
                try require(
                    road.server.counts.accepted == 1,
                    "20 calls in a row took \(road.server.counts.accepted) connections")
            },
        ]
    }

    // Abandons a transfer. The server must notice, and the transport must still work.
    private static func ending(
        _ name: String, _ body: @escaping @Sendable (Road) async throws -> Void
    ) -> Check {
        check(name) { road in
            road.server.route("/silence", .silence)
            road.server.route("/endless", .endless())
            road.server.route("/upload", .silence.withoutReading())
            road.server.route("/ok", .ok(text: "fine"))
            try await body(road)
            try await road.server.wait { $0.abandoned == 1 }
            let text = try await road.text(of: road.get("ok"))
            try require(text == "fine", "the transport does not work afterwards")
        }
    }
}
