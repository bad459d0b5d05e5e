// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeSupport

extension TransportConformance {
    static var bodies: [Check] {
        [
            check("Content can be read before the rest has arrived") { road in
                let hold = TestHold()
                let parts = [Data("first".utf8), Data("second".utf8)]
                road.server.route("/", .chunked(parts, holding: hold, before: 1))
                var got = Data()
                for try await chunk in try await road.get("/").response().body {
                    got.append(chunk)
                    if got.count >= 5 { hold.open() }
                }
                try require(got == Data("firstsecond".utf8), "the content differs")
            },
            check("Content without a length ends with its connection") { road in
                road.server.route("/", .raw(Data("HTTP/1.1 200 OK\r\n\r\n1234".utf8)))
                let text = try await road.text(of: road.get("/"))
                try require(text == "1234", "the content is “\(text)”")
            },
            check("Content in a coding that the request names arrives decoded") { road in
                let plain = "coded content"
                for (coding, content) in Self.coded {
                    road.server.route(
                        "/",
                        .handler { request in
                            let accepted = request.headers[.acceptEncoding]?.split(separator: ",")
                            let isAccepted = accepted?.contains {
                                $0.drop { $0 == " " } == coding
                            }
                            guard isAccepted == true else { return .ok(text: plain) }
                            return .ok(data: content, headers: ["Content-Encoding": coding])
                        })
                    let text = try await road.text(of: road.get("/"))
                    try require(text == plain, "\(coding) content arrives as “\(text)”")
                }
            },
            check("Chunked content arrives without its framing") { road in
                let parts = (0..<50).map { Data("part \($0);".utf8) }
                road.server.route("/", .chunked(parts))
                let content = try await road.content(of: road.get("/"))
                try require(content == parts.reduce(Data(), +), "the content differs")
            },
            check("Response trailers reach the caller separately from the head (if supported)") {
                road in
                guard road.transport.capabilities.contains(.trailers) else { return }
                road.server.route(
                    "/", .chunked([Data("x".utf8)], trailers: ["X-Sum": "1", "Set-Cookie": "a=1"]))
                let response = try await road.get("/").response()
                _ = try await response.body.collect(upTo: 10)
                try require(response.trailers == ["X-Sum": "1"], "got \(response.trailers)")
                try require(response.headers["X-Sum"] == nil, "a trailer field is in the head")
            },
            check("The bytes of encoded content are counted on arrival (if supported)") { road in
                guard road.transport.capabilities.contains(.encodedSizes) else { return }
                let deflater = try Deflater(.gzip, level: 9)
                let plain = Data(repeating: 0x78, count: 100_000)
                let encoded = try deflater.add(plain) + deflater.finish()
                road.server.route("/", .ok(data: encoded, headers: ["Content-Encoding": "gzip"]))
                let response = try await road.get("/").response()
                let content = try await response.body.collect(upTo: 200_000)
                try require(content == plain, "the content differs")
                let counted = response.body.encodedBytes
                try require(counted == Int64(encoded.count), "counted \(counted ?? -1)")
            },
            check("The timeline has the phases of the connection (if supported)") { road in
                guard road.transport.capabilities.contains(.phaseTimes) else { return }
                road.server.route("/", .ok(text: "x"))
                for _ in 0..<2 {
                    let response = try await road.client.post("/", body: .text("hello")).response()
                    _ = try await response.body.collect(upTo: 10)
                    let times = response.timeline
                    let moments = [
                        times.sent, times.connected, times.ready, times.firstByte, times.head,
                    ].compactMap(\.self)
                    try require(moments.count == 5, "a time is missing: \(times)")
                    try require(moments == moments.sorted(), "the times are not in order: \(times)")
                    try require(times.isConnectionReused != nil, "reuse is not reported")
                    try require(
                        times.bodyBytesSent == 5, "\(times.bodyBytesSent) of 5 bytes were reported")
                }
            },
            check("A reader that is slower than the server gets all bytes in order") { road in
                road.server.route("/", .handler { _ in .ok(data: Self.pattern(6 << 20)) })
                var position = 0
                let pattern = Self.pattern(6 << 20)
                for try await chunk in try await road.get("/").response().body {
                    let end = position + chunk.count
                    try require(
                        end <= pattern.count && chunk == pattern[position..<end],
                        "bytes from \(position) on differ")
                    position = end
                    await Task.yield()
                }
                try require(position == pattern.count, "\(position) bytes arrived")
            },
            check("Bodies of every kind are sent completely") { road in
                road.server.fallback(.echo)
                let file = FileManager.default.temporaryDirectory.appending(
                    path: "turnpike-\(UUID().uuidString)")
                try Data("0123456789".utf8).write(to: file)
                defer { try? FileManager.default.removeItem(at: file) }
                let bodies: [(String, RequestBody, String)] = [
                    ("text", .text("hello"), "hello"), ("file", .file(file), "0123456789"),
                    ("range", .file(file, range: 2..<5), "234"),
                    ("stream", .stream { Self.stream("ab", "cd") }, "abcd"),
                    ("sized stream", .stream(length: 4) { Self.stream("ab", "cd") }, "abcd"),
                    ("empty stream", .stream { Self.stream() }, ""), ("empty", .empty, ""),
                ]
                for (kind, body, wanted) in bodies {
                    let content = try await road.content(of: road.client.post("/", body: body))
                    let echo = try JSONValue(parsing: content)
                    try require(echo["body"]?.string == wanted, "a \(kind) body was changed")
                }
            },
            check("Request trailers follow the content (if supported)") {
                road in
                guard road.transport.capabilities.contains(.requestTrailers) else { return }
                road.server.fallback(.echo)
                let body = RequestBody.text("hello").followed(by: ["X-Sum"]) { ["X-Sum": "1"] }
                for _ in 0..<2 {
                    _ = try await road.content(of: road.client.post("/", body: body))
                }
                for request in road.server.requests {
                    try require(request.body == Data("hello".utf8), "the content differs")
                    try require(request.trailers == ["X-Sum": "1"], "got \(request.trailers)")
                }
            },
            check("A large body is sent completely") { road in
                road.server.fallback(.echo)
                let content = try await road.content(
                    of: road.client.post("/", body: .data(Self.pattern(5 << 20))))
                let echo = try JSONValue(parsing: content)
                try require(echo["bodyBytes"]?.int == 5 << 20, "the server got another size")
                road.server.fallback(.handler { .ok(data: $0.body) })
                let returned = try await road.content(
                    of: road.client.post("/", body: .data(Self.pattern(1_000_000))))
                try require(returned == Self.pattern(1_000_000), "the content differs")
            },
            check("A failing request body is an error, and no complete request arrives") {
                road in
                struct Broken: Error {}
                road.server.fallback(.echo)
                let body = RequestBody.stream(length: 100) {
                    AsyncThrowingStream<Data, any Error> { continuation in
                        continuation.yield(Data("abc".utf8))
                        continuation.finish(throwing: Broken())
                    }
                }
                _ = try await error {
                    _ = try await road.content(of: road.client.post("/", body: body))
                }
                try require(
                    road.server.requests.allSatisfy { !$0.isComplete || $0.bodyBytes == 0 },
                    "a complete request arrived")
            },
            check("Reading a truncated body always fails") { road in
                let sent = Data("abc".utf8)
                road.server.route("/short", .short(declared: 100, sent: sent))
                road.server.route("/reset", .reset(after: sent, declared: 100))
                road.server.route("/chunks", .chunked([sent], endsWell: false))
                for path in ["short", "reset", "chunks"] {
                    let error = try await requireError(.incomplete, .connection, .protocol) {
                        _ = try await road.content(of: road.get(Target(path)))
                    }
                    try require(
                        error.transfer?.phase == .receiving,
                        "\(path): the phase is \(String(describing: error.transfer?.phase))")
                }
            },
        ]
    }

    static func pattern(_ count: Int) -> Data {
        var generator = SeededGenerator(seed: 42)
        var data = Data(capacity: count + 8)
        while data.count < count {
            let word = generator.next()
            for shift in stride(from: 0, to: 64, by: 8) {
                data.append(UInt8(truncatingIfNeeded: word >> UInt64(shift)))
            }
        }
        return data.prefix(count)
    }

    /// One content in each content coding that a client may accept.
    private static let coded = [
        ("gzip", "H4sIAAAAAAACA0vOT0lNUUjOzytJzSsBAMx0GKoNAAAA"),
        ("deflate", "eJxLzk9JTVFIzs8rSc0rAQAizgUb"), ("br", "GwwAAKRBxsjelCCjlOTR8MQ="),
        ("zstd", "KLUv/QRYaQAAY29kZWQgY29udGVudEpdS1Y="),
    ].map { ($0, Data(base64Encoded: $1) ?? Data()) }

    static func stream(_ parts: String...) -> AsyncStream<Data> {
        AsyncStream { continuation in
            for part in parts { continuation.yield(Data(part.utf8)) }
            continuation.finish()
        }
    }
}

extension TransportConformance {
    static var messages: [Check] {
        [
            check("A request arrives unchanged") { road in
                road.server.fallback(.echo)
                _ = try await road.content(
                    of: road.client.request(
                        .patch, "a/b%20c?q=1&e=&q=%C3%A9",
                        headers: [
                            "X-One": "1", "X-Two": "a, b", "X-Empty": "", "X-List": "a",
                            "X-List": "b",
                        ],
                        body: .text("content")))
                guard let request = road.server.requests.first else {
                    throw ConformanceFailure("nothing arrives")
                }
                try require(request.method == .patch, "the method is \(request.method)")
                try require(
                    request.target == "/a/b%20c?q=1&e=&q=%C3%A9", "the target is \(request.target)")
                try require(request.headers["X-One"] == "1", "a header field is missing")
                try require(request.headers["X-Two"] == "a, b", "a header field was changed")
                try require(request.headers["X-List"] == "a, b", "a line of a list is missing")
                try require(request.headers["X-Empty"] == "", "a field without a value is missing")
                try require(request.body == Data("content".utf8), "the content differs")
                try require(
                    request.headers.values(of: .contentLength) == ["7"],
                    "the length of a known body is not announced exactly once")
            },
            check("A response arrives unchanged") { road in
                road.server.route(
                    "/",
                    .status(
                        418,
                        headers: [
                            "X-Answer": "yes", "X-List": "a", "X-List": "b",
                            "Content-Type": "text/plain",
                        ],
                        body: Data("short and stout".utf8)))
                let response = try await road.get("/").response()
                try require(response.status == 418, "the status is \(response.status.code)")
                try require(response.headers["x-answer"] == "yes", "a header field is missing")
                try require(response.headers["X-List"] == "a, b", "a line of a list is missing")
                let body = try await response.body.collect(upTo: 1000)
                try require(body == Data("short and stout".utf8), "the content differs")
            },
            check("Every status arrives as the response of every method") { road in
                for (path, status) in [("ok", 200), ("missing", 404), ("unknown", 999)] {
                    road.server.route("/" + path, .status(HTTPStatus(status)))
                    for method in [HTTPMethod.get, .head, .post, .put, .delete] {
                        let call = road.client.request(method, Target(path))
                        let response = try await call.response()
                        try require(
                            response.status.code == status,
                            "\(method) \(path) gets \(response.status.code)")
                        let content = try await response.body.collect(upTo: 10)
                        try require(content.isEmpty, "\(method) \(path) has content")
                    }
                }
            },
            check("A status line without a reason is valid") { road in
                let head = "HTTP/1.1 200 \r\nContent-Length: 1\r\n\r\nx"
                road.server.route("/", .raw(Data(head.utf8)))
                let response = try await road.get("/").response()
                try require(response.status == 200, "the status is \(response.status.code)")
                let content = try await response.body.collect(upTo: 10)
                try require(content == Data("x".utf8), "the content differs")
            },
            check("A redirect is returned, not followed") { road in
                road.server.route("/", .redirect(302, to: "/elsewhere"))
                let response = try await road.get("/").response()
                try require(response.status == 302, "it was followed: \(response.status.code)")
                _ = try await response.body.collect(upTo: 1000)
                try require(road.server.requests.count == 1, "more than one request was sent")
            },
            check("No cookie is kept") { road in
                road.server.fallback(.status(200, headers: ["Set-Cookie": "a=1; Path=/"]))
                for _ in 0..<2 { _ = try await road.content(of: road.get("/")) }
                try require(
                    road.server.requests.allSatisfy { !$0.headers.contains(.cookie) },
                    "a cookie came back")
            },
            check("A challenge is returned, not answered") { road in
                road.server.route(
                    "/",
                    .status(
                        401, headers: ["WWW-Authenticate": "Basic realm=\"x\""],
                        body: Data("no".utf8)))
                let response = try await road.get("/").response()
                try require(response.status == 401, "the status is \(response.status.code)")
                let body = try await response.body.collect(upTo: 100)
                try require(body == Data("no".utf8), "the content of the 401 is missing")
                try require(road.server.requests.count == 1, "the challenge was answered")
            },
            check("Interim responses are skipped") { road in
                road.server.route("/", .ok(text: "final").preceded(by: [103, 103, 102]))
                let text = try await road.text(of: road.get("/"))
                try require(text == "final", "the answer is “\(text)”")
            },
            check("Content of a 205, which must not have any, is refused") { road in
                road.server.route("/reset", .status(205, body: Data("x".utf8)))
                road.server.route("/empty", .status(205))
                _ = try await requireError(.protocol) {
                    _ = try await road.content(of: road.get("/reset"))
                }
                let content = try await road.content(of: road.get("/empty"))
                try require(content.isEmpty, "a 205 has content")
            },
            check("HEAD, 204 and 304 have no content, whatever they announce") { road in
                road.server.route("/head", .status(200, body: Data(count: 10)))
                road.server.route("/empty", .status(204))
                road.server.route("/same", .status(304, headers: ["ETag": "\"a\""]))
                for status in ["204", "304"] {
                    let head = "HTTP/1.1 \(status) x\r\nContent-Length: 1000\r\n\r\n"
                    road.server.route("/" + status, .raw(Data(head.utf8), closes: false))
                }
                for (method, path) in [
                    (HTTPMethod.head, "head"), (.get, "empty"), (.get, "same"), (.get, "empty"),
                    (.get, "204"), (.get, "304"),
                ] {
                    let content = try await road.content(
                        of: road.client.request(method, Target(path)))
                    try require(content.isEmpty, "\(method) \(path) has content")
                }
            },
        ]
    }
}
