// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore

extension TransportConformance {
    static var messages: [Check] {
        [
            check("A request arrives unchanged") { road in
                road.server.fallback(.echo)
                _ = try await road.content(
                    of: road.client.request(
                        .patch, "a/b%20c?q=1&q=%C3%A9", headers: ["X-One": "1", "X-Two": "a, b"],
                        body: .text("content")))
                guard let request = road.server.requests.first else {
                    throw ConformanceFailure("nothing arrives")
                }
                try require(request.method == .patch, "the method is \(request.method)")
                try require(
                    request.target == "/a/b%20c?q=1&q=%C3%A9", "the target is \(request.target)")
                try require(request.headers["X-One"] == "1", "a header field is missing")
                try require(request.headers["X-Two"] == "a, b", "a header field was changed")
                try require(request.body == Data("content".utf8), "the content differs")
                try require(
                    request.headers.values(of: .contentLength) == ["7"],
                    "the length of a known body is not announced, or not once")
            },
            check("A response arrives unchanged") { road in
                road.server.route(
                    "/",
                    .status(
                        418, headers: ["X-Answer": "yes", "Content-Type": "text/plain"],
                        body: Data("short and stout".utf8)))
                let response = try await road.get("/").response()
                try require(response.status == 418, "the status is \(response.status.code)")
                try require(response.headers["x-answer"] == "yes", "a header field is missing")
                let body = try await response.body.collect(upTo: 1000)
                try require(body == Data("short and stout".utf8), "the content differs")
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
                road.server.route("/", .text("final").preceded(by: [103, 103, 102]))
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
                for (method, path) in [
                    (HTTPMethod.head, "head"), (.get, "empty"), (.get, "same"), (.get, "empty"),
                ] {
                    let content = try await road.content(
                        of: road.client.request(method, Target(path)))
                    try require(content.isEmpty, "\(method) \(path) has content")
                }
            },
        ]
    }
}
