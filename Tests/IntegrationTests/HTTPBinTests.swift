// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Turnpike
import TurnpikeAuthenticationStackFiles
import TurnpikeStackFiles

@Suite(
    "With httpbin",
    .needs("httpbin and scripts/test --integration", if: Peers.shared?.httpbin != nil))
struct HTTPBinTests {
    private let base: String
    private let client: Client

    init() throws {
        base = try #require(Peers.shared?.httpbin)
        client = Client(baseURL: Target(base))
    }

    @Test("What is sent is what arrives")
    func get() async throws {
        let seen = try await client.get("get", query: ["q": "a b&c", "t": ["1", "2"]])
            .header("X-Name", "value").json()
        #expect(seen["args"]?["q"] == "a b&c")
        #expect(seen["args"]?["t"] == ["1", "2"])
        #expect(seen["headers"]?["X-Name"] == "value")
    }

    @Test("Redirects of every kind are followed", arguments: ["redirect/3", "absolute-redirect/3"])
    func redirects(path: String) async throws {
        let response = try await client.get(Target(path)).response()
        #expect(response.status == 200)
        #expect(response.hops.count == 3)
        #expect(response.url.path() == "/get")
    }

    @Test("A redirect keeps or changes the method by its status", arguments: [303, 307])
    func redirectedMethods(status: Int) async throws {
        let target = base + (status == 303 ? "get" : "post")
        let seen = try await client.post(
            "redirect-to", body: .data(Data("x".utf8)),
            query: ["url": "\(target)", "status_code": "\(status)"]
        ).json()
        #expect(seen["data"] == (status == 303 ? nil : "x"))
    }

    @Test("Challenges are answered", arguments: ["basic", "digest"])
    func authentication(scheme: String) async throws {
        let path = scheme == "basic" ? "basic-auth/user/pass" : "digest-auth/auth/user/pass"
        let gate: JSONValue = ["use": .string(scheme), "user": "user", "password": "pass"]
        let file = try StackFile(["baseURL": .string(base), "stack": [["use": "validate"], gate]])
        var registry = Registry.standard
        registry.registerAuthentication()
        let configured = try ConfiguredClient(
            file, registry: registry, serializers: .standard)
        let seen = try await configured.client.get(Target(path)).json()
        #expect(seen["authenticated"] == true)
        let error = await #expect(throws: ClientError.self) {
            try await client.get(Target(path)).data()
        }
        #expect(error?.response?.status == 401)
    }

    @Test("User information in a URL is a Basic credential")
    func userInformation() async throws {
        let url = base.replacing("http://", with: "http://user:pass@") + "basic-auth/user/pass"
        #expect(try await client.get(Target(url)).json()["user"] == "user")
    }

    @Test("Contents come decoded", arguments: [("gzip", "gzipped"), ("deflate", "deflated")])
    func compression(path: String, key: String) async throws {
        #expect(try await client.get(Target(path)).json()[key] == true)
    }

    @Test("Bodies of every kind arrive", arguments: ["data", "file", "stream"])
    func uploads(kind: String) async throws {
        let text = String(repeating: "turnpike ", count: 100_000)
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try Data(text.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let body: RequestBody =
            switch kind {
            case "data": .data(Data(text.utf8))
            case "file": .file(file)
            default:
                .stream {
                    AsyncStream<Data> { stream in
                        for _ in 0..<100 {
                            stream.yield(Data(String(repeating: "turnpike ", count: 1000).utf8))
                        }
                        stream.finish()
                    }
                }
            }
        #expect(try await client.put("put", body: body).json()["data"]?.string == text)
    }

    @Test("Forms arrive as forms, files as files")
    func forms() async throws {
        var form = MultipartFormData()
        form.append("Sea & sun", name: "title")
        form.append(Data("bytes".utf8), name: "photo", filename: "a.txt")
        let seen = try await client.post("post", body: .multipart(form)).json()
        #expect(seen["form"]?["title"] == "Sea & sun")
        #expect(seen["files"]?["photo"] == "bytes")
    }

    @Test("Lines come as they are sent, and a drip in the end whole")
    func streaming() async throws {
        var ids: [Int] = []
        for try await value in client.get("stream/20").jsonLines() {
            if let id = value["id"]?.int { ids.append(id) }
        }
        #expect(ids == Array(0..<20))
        let drip = try await client.get("drip", query: ["duration": "1", "numbytes": "5"]).data()
        #expect(drip.count == 5)
    }

    @Test("Statuses are told as they are", arguments: [204, 404, 418, 500])
    func statuses(code: Int) async throws {
        let client = Client(baseURL: Target(base), stack: [])
        #expect(try await client.get(Target("status/\(code)")).response().status.code == code)
    }

    @Test("A time limit ends a call that takes too long")
    func delay() async throws {
        let error = await #expect(throws: ClientError.self) {
            try await client.get("delay/5").deadline(.milliseconds(300)).data()
        }
        #expect(error?.code == .deadlineExceeded)
    }
}
