// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import TurnpikeCacheStackFiles
import TurnpikeStackFiles
import TurnpikeTesting

@testable import TurnpikeCache
@testable import TurnpikeCore
@testable import TurnpikeMiddleware

/// Answers with who asked, by a field that the cache does not know.
private func named(_ control: String, _ more: HTTPHeaders, _ request: Request) -> MockResponse {
    var headers: HTTPHeaders = ["Cache-Control": control]
    for field in more { headers.append(field.name, field.value) }
    return .ok(text: request.headers["X-Who"] ?? "nobody", headers: headers)
}

extension CachedClient {
    fileprivate init(
        naming control: String, _ more: HTTPHeaders = [:], in store: any CacheStore = MemoryStore(),
        options: Cache.Options = Cache.Options()
    ) {
        self.init(store, options: options) { named(control, more, $0) }
    }
}

@Suite("What is stored for whom")
struct IdentityTests {
    private static let fields: [HTTPHeaders] = [
        [:], ["Authorization": "Bearer a"], ["Authorization": "Bearer b"],
        ["Proxy-Authorization": "Basic a"], ["Proxy-Authorization": "Basic b"],
        ["X-Api-Key": "a"], ["X-Api-Key": "b"], ["Private-Token": "a"], ["Private-Token": "b"],
        ["X-Auth": "a"], ["X-Auth": "b"], ["X-Session": "a"], ["X-Session": "b"],
        ["X-Jwt-Assertion": "a"], ["X-Jwt-Assertion": "b"],
        ["Cookie": "sid=a"], ["Cookie": "sid=b"],
        ["Cookie": "sid=a", "Authorization": "Bearer a"],
        ["Cookie": "sid=b", "Authorization": "Bearer a"],
    ]

    /// Who each of the callers finds when all have asked in this order, twice.
    private func found(
        _ callers: [HTTPHeaders], _ cached: CachedClient
    ) async throws -> [String] {
        var texts: [String] = []
        for _ in 0..<2 {
            texts = []
            for (number, headers) in callers.enumerated() {
                var headers = headers
                headers["X-Who"] = "\(number)"
                texts.append(try await cached.get("/a", headers).text)
            }
        }
        return texts
    }

    @Test(
        "A private response is found only by its caller, however the caller is identified",
        arguments: [
            "private, max-age=60", "max-age=60, private=\"x-name\"", "max-age=60, s-maxage=0",
            "public, max-age=60, s-maxage=59",
        ])
    func person(control: String) async throws {
        try await expect(control, "each finds its own") { Array($0.indices) }
    }

    // Whose response each of the callers finds, whoever asks first.
    private func expect(
        _ control: String, _ reason: Comment, _ owners: ([HTTPHeaders]) -> [Int]
    ) async throws {
        for callers in [Self.fields, Self.fields.reversed()] {
            let cached = CachedClient(naming: control)
            let owners = owners(callers)
            #expect(try await found(callers, cached) == owners.map { "\($0)" }, reason)
            #expect(cached.sent == Set(owners).count, reason)
        }
    }

    @Test("A refusal (401, 403, 407) is found only by its caller", arguments: [401, 403, 407])
    func refusal(status: Int) async throws {
        let cached = CachedClient { request in
            let isKnown = request.headers.contains("X-Api-Key")
            return .status(
                isKnown ? 200 : HTTPStatus(status), headers: ["Cache-Control": "public, max-age=60"]
            )
        }
        for _ in 0..<2 {
            #expect(try await cached.get("/a").code == status)
            #expect(try await cached.get("/a", ["Cookie": "a=1"]).code == status)
        }
        #expect(cached.sent == 2)
        #expect(try await cached.get("/a", ["X-Api-Key": "a"]).code == 200)
    }

    @Test("A response whose Set-Cookie has no Path is private; with Path=/ it is shared")
    func setCookie() async throws {
        let callers = Self.fields
        let own = CachedClient(naming: "public, max-age=60", ["Set-Cookie": "id=1"])
        #expect(try await found(callers, own) == callers.indices.map { "\($0)" })
        let other = CachedClient(naming: "public, max-age=60", ["Set-Cookie": "id=1; Path=/"])
        #expect(try await found(callers, other) == callers.map { _ in "0" })
    }

    @Test(
        "A response to a credential is shared if it says so (RFC 9111 §3.5)",
        arguments: [
            "public, max-age=60", "max-age=60, must-revalidate", "max-age=60, s-maxage=60",
            "max-age=60, s-maxage=600",
        ])
    func shared(control: String) async throws {
        try await expect(control, "all find the first one's") { $0.map { _ in 0 } }
    }

    @Test("Otherwise it is found with the same credential, whatever the cookies are")
    func credential() async throws {
        let cached = CachedClient(naming: "max-age=60")
        let callers: [HTTPHeaders] = [
            ["Authorization": "Bearer a"], ["Authorization": "Bearer b"], [:], ["Cookie": "s=1"],
            ["Cookie": "s=2"], ["Authorization": "Bearer a", "Cookie": "s=1"], ["X-Api-Key": "a"],
            ["X-Api-Key": "a", "Cookie": "s=3"],
        ]
        // What all share is found by those who come later; what they have of their own comes first.
        #expect(
            try await found(callers, cached) == ["0", "1", "2", "2", "2", "0", "2", "2"])
        #expect(cached.sent == 3)
    }

    @Test("Anti-forgery fields and trace fields do not identify a caller")
    func forgery() async throws {
        let cached = CachedClient(naming: "private, max-age=60")
        let names = [
            "X-CSRF-Token", "X-XSRF-TOKEN", "X-CSRFToken", "RequestVerificationToken",
            "Authenticity-Token", "traceparent", "X-Request-ID", "Idempotency-Key",
        ]
        let callers = names.map { name -> HTTPHeaders in
            var headers: HTTPHeaders = ["Cookie": "sid=a"]
            headers[HTTPHeaders.Name(name)] = name
            return headers
        }
        #expect(try await found(callers, cached) == callers.map { _ in "0" })
    }

    @Test("Cookies of a jar identify a caller as its own cookies do")
    func jars() async throws {
        let cache = Cache()
        let transport = MockTransport { request in
            .ok(
                text: request.headers[.cookie] ?? "none",
                headers: ["Cache-Control": "private, max-age=60"])
        }
        for name in ["a", "b", "a"] {
            let jar = CookieJar()
            let url = try #require(URL(string: "http://a.example/"))
            jar.store(["sid=\(name)"], from: url, at: .now)
            let client = Client(
                transport: transport, stack: [.cookies(jar), .cache(cache)],
                serializers: SerializerTable())
            let response = try await client.get("http://a.example/a").response()
            let text = try await response.body.collect(upTo: 100)
            #expect(String(decoding: text, as: UTF8.self) == "sid=\(name)")
        }
        #expect(transport.sentCount == 2)
    }

    @Test("A tenant replaces the identity in the request; without one the request decides")
    func tenant() async throws {
        var options = Cache.Options()
        options.tenant = { request, _ in request.headers["X-Tenant"] }
        let callers: [HTTPHeaders] = [
            ["X-Tenant": "1", "Authorization": "Bearer a"], ["X-Tenant": "1", "Cookie": "b"],
            ["X-Tenant": "2", "Authorization": "Bearer a"], ["X-Tenant": "2"],
            ["Authorization": "Bearer a"], ["Authorization": "Bearer b"],
        ]
        for control in ["private, max-age=60", "max-age=60"] {
            let cached = CachedClient(naming: control, options: options)
            #expect(try await found(callers, cached) == ["0", "0", "2", "2", "4", "5"])
        }
        let cached = CachedClient(naming: "public, max-age=60", options: options)
        #expect(try await found(callers, cached) == callers.map { _ in "0" })
    }

    @Test("Fields that only the user knows can be named, in code and in a stack file")
    func ownFields() async throws {
        var registry = Registry()
        registry.registerCache()
        let transport = MockTransport { named("private, max-age=60", [:], $0) }
        registry.register(transport: "test") { _ in transport }
        let client = try ConfiguredClient(
            StackFile([
                "transport": ["use": "test"],
                "stack": [["use": "cache", "identityFields": ["X-User-ID"]]],
            ]), registry: registry, serializers: SerializerTable()
        ).client
        for name in ["a", "b", "a", "b"] {
            let headers: HTTPHeaders = ["X-User-ID": name, "X-Who": name]
            let response = try await client.get("http://a.example/", headers: headers).response()
            let text = try await response.body.collect(upTo: 100)
            #expect(String(decoding: text, as: UTF8.self) == name)
        }
        #expect(transport.sentCount == 2)
    }

    @Test("A change removes the caller's and the shared entries, but none of other callers")
    func change() async throws {
        let cached = CachedClient { request in
            let control = request.headers["X-Control"] ?? "private, max-age=60"
            return .ok(text: "x", headers: ["Cache-Control": control])
        }
        let a: HTTPHeaders = ["Authorization": "Bearer a", "Cookie": "sid=a"]
        let b: HTTPHeaders = ["Authorization": "Bearer b"]
        for headers in [a, b] { _ = try await cached.get("/a", headers) }
        _ = try await cached.get("/a", ["X-Control": "max-age=60"])
        #expect(try await cached.cache.list().count == 3)
        _ = try await cached.send(.post, "/a", a)
        let left = try await cached.cache.list()
        #expect(left.count == 1)
        _ = try await cached.get("/a", b)
        #expect(cached.cache.statistics.hits == 1)
    }

    @Test("A response that was private and is public now is found by all")
    func moved() async throws {
        let count = Tally()
        let cached = CachedClient { _ in
            let number = count.add()
            let control = number == 1 ? "private, max-age=10" : "public, max-age=60"
            return .ok(
                text: "\(number)", headers: ["Cache-Control": control, "ETag": "\"\(number)\""])
        }
        let a: HTTPHeaders = ["Cookie": "sid=a"]
        #expect(try await cached.get("/a", a).text == "1")
        cached.clock.advance(by: .seconds(11))
        for _ in 0..<3 { #expect(try await cached.get("/a", a).text == "2") }
        #expect(try await cached.get("/a").text == "2")
        #expect(cached.sent == 2)
        #expect(try await cached.cache.list().count == 1)
    }

    @Test("A 304 that makes a response private removes it from the shared entries")
    func confirmedAsPrivate() async throws {
        let cached = CachedClient { request in
            if request.headers.contains(.ifNoneMatch) {
                return .status(
                    304, headers: ["ETag": "\"1\"", "Cache-Control": "private, max-age=60"])
            }
            return .ok(
                text: request.headers["X-Who"] ?? "",
                headers: ["ETag": "\"1\"", "Cache-Control": "max-age=60"])
        }
        _ = try await cached.get("/a", ["X-Who": "all"])
        cached.clock.advance(by: .seconds(61))
        #expect(try await cached.get("/a", ["Cookie": "sid=a"]).text == "all")
        #expect(try await cached.get("/a", ["X-Who": "b"]).text == "b")
    }

    @Test("The folder of a store tells identities apart as memory does, and holds no secret")
    func disk() async throws {
        let folder = TemporaryFolder()
        let store = DiskStore(directory: folder.path)
        for _ in 0..<2 {
            let cached = CachedClient(naming: "private, max-age=60", in: store)
            for name in ["hidden-a", "hidden-b"] {
                let headers: HTTPHeaders = [
                    "X-Api-Key": name, "Cookie": "sid=\(name)", "X-Who": name,
                ]
                #expect(try await cached.get("/a", headers).text == name)
            }
            await store.flush()
        }
        for path in folder.entries {
            let data = try Data(contentsOf: URL(filePath: path))
            #expect(data.range(of: Data("sid=hidden".utf8)) == nil)
        }
    }
}

@Suite("Waiting for the validation of another user")
struct IdentityOfFlightsTests {
    /// What two callers get who wait for one validation of a stale response that both could use.
    private func together(
        _ first: HTTPHeaders, _ second: HTTPHeaders, inside: [any Gate] = [],
        staleIfError: Duration = .zero,
        _ answer: @escaping @Sendable (Request) -> MockResponse
    ) async throws -> ([Result<CachedClient.Answer, any Error>], CachedClient) {
        var options = Cache.Options()
        options.staleIfError = staleIfError
        let stored = MockResponse.ok(
            text: "all", headers: ["Cache-Control": "public, max-age=60", "ETag": "\"1\""])
        let (calls, cached) = try await CachedClient.twoCallers(
            first, second, of: stored, options: options, inside: inside, answer)
        return ([await calls[0].result, await calls[1].result], cached)
    }

    private static let a: HTTPHeaders = ["Authorization": "Bearer a"]
    private static let b: HTTPHeaders = ["Authorization": "Bearer b"]

    private static func owned(
        _ status: HTTPStatus, _ headers: HTTPHeaders
    ) -> @Sendable (Request) -> MockResponse {
        { request in
            .status(
                status, headers: headers, body: Data((request.headers[.authorization] ?? "").utf8))
        }
    }

    @Test("A shared response is given to all who wait", arguments: [200, 304])
    func common(status: Int) async throws {
        let (answers, cached) = try await together(
            Self.a, Self.b,
            Self.owned(
                HTTPStatus(status), ["Cache-Control": "public, max-age=60", "ETag": "\"1\""]))
        let texts = try answers.map { try $0.get().text }
        #expect(texts == (status == 200 ? ["Bearer a", "Bearer a"] : ["all", "all"]))
        #expect(cached.sent == 2)
    }

    @Test(
        "A response for the first caller alone is not given to the second",
        arguments: ["private, max-age=60", "max-age=60"], [200, 404, 410])
    func own(control: String, status: Int) async throws {
        let (answers, cached) = try await together(
            Self.a, Self.b, Self.owned(HTTPStatus(status), ["Cache-Control": control]))
        #expect(try answers.map { try $0.get().text } == ["Bearer a", "Bearer b"])
        #expect(cached.sent == 3)
    }

    @Test("A 304 that makes the response private is not given to the second")
    func confirmedAsPrivate() async throws {
        let (answers, cached) = try await together(
            Self.a, Self.b,
            Self.owned(304, ["Cache-Control": "private, max-age=60", "ETag": "\"1\""]))
        #expect(try answers.map { try $0.get().text } == ["all", "all"])
        #expect(cached.sent == 3, "the second asks for itself")
    }

    @Test("An error of a validator inside, with the content's beginning, is not shared")
    func refused() async throws {
        for status in [404, 503] {
            let (answers, _) = try await together(
                Self.a, Self.b, inside: [Validate()], Self.owned(HTTPStatus(status), [:]))
            let contents = answers.map { answer -> String in
                guard case .failure(let error as ClientError) = answer else { return "?" }
                return String(decoding: error.responseBody, as: UTF8.self)
            }
            #expect(contents == ["Bearer a", "Bearer b"])
        }
    }

    @Test("An error of the server is requested once, and both get the stale response")
    func fault() async throws {
        let (answers, cached) = try await together(
            Self.a, Self.b, staleIfError: .seconds(100), Self.owned(503, [:]))
        #expect(try answers.map { try $0.get().text } == ["all", "all"])
        #expect(cached.sent == 2)
    }
}
