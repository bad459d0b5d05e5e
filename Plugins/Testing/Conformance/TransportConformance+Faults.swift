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
                try require(road.server.requests.count == 1, "it was sent again")
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
                let head = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc"
                road.server.route("/", .raw(Data(head.utf8)))
                try await requireError(.protocol, .incomplete) {
                    _ = try await road.content(of: road.get("/"))
                }
            },
        ]
    }

    static var life: [Check] {
        [
            check("A hundred calls at once each get their own response") { road in
                road.server.fallback(.handler { .text($0.target) })
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
                road.server.route("/", .text("x"))
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
