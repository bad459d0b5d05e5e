// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike

private struct Found: Decodable {
    let items: [Int]
    let cursor: String?
}

@Suite("Pages")
struct PagesTests {
    private func client(
        _ transport: MockTransport, _ stack: Stack = [], base: Target? = "http://a.example/"
    ) -> Client {
        Client(baseURL: base, transport: transport, stack: stack)
    }

    private func numbers(_ pages: some AsyncSequence<[Int], any Error>) async throws -> [Int] {
        var all: [Int] = []
        for try await page in pages { all += page }
        return all
    }

    private func paths(_ transport: MockTransport) -> [String] {
        transport.sent.map { $0.request.targetURI.originForm }
    }

    @Test("Links with the relation next lead from page to page, and each page is a call")
    func links() async throws {
        let transport = MockTransport([
            .on(
                .get, "/n",
                .ok(json: [1, 2], headers: ["Link": "<n2?p=2>; rel=\"next\", </n>; rel=first"])),
            .on(
                .get, "/n2",
                .ok(json: [3], headers: ["Link": "<http://a.example/n3>; rel=\"prev NEXT\""])
            ),
            .on(.get, "/n3", .ok(json: [4], headers: ["Link": "</n>; rel=first"])),
        ])
        let call = client(transport).get("n", headers: ["X-Key": "k"])
        #expect(try await numbers(call.pages(of: [Int].self)) == [1, 2, 3, 4])
        #expect(paths(transport) == ["/n", "/n2?p=2", "/n3"])
        #expect(transport.sent.allSatisfy { $0.request.headers["X-Key"] == "k" })
    }

    @Test("A page that nobody asks for is not requested, and each iterator begins anew")
    func lazy() async throws {
        let transport = MockTransport([
            .on(.get, "/n", .ok(json: [1], headers: ["Link": "</n2>; rel=next"])),
            .on(.get, "/n2", .ok(json: [2])),
        ])
        let pages = client(transport).get("n").pages(of: [Int].self)
        for _ in 0..<2 {
            for try await page in pages {
                #expect(page == [1])
                break
            }
        }
        #expect(paths(transport) == ["/n", "/n"])
    }

    @Test("A closure finds a cursor, which takes the place of the one before")
    func cursor() async throws {
        let transport = MockTransport { request in
            switch request.targetURI.originForm {
            case "/s?q=a%20b&limit=2": .ok(json: ["items": [1, 2], "cursor": "x y"])
            case "/s?q=a%20b&limit=2&cursor=x%20y": .ok(json: ["items": [3], "cursor": "z"])
            case "/s?q=a%20b&limit=2&cursor=z": .ok(json: ["items": [4], "cursor": nil])
            default: .status(400)
            }
        }
        let call = client(transport).get("s", query: ["q": "a b", "limit": 2])
        var all: [Int] = []
        let pages = call.pages(of: Found.self) { page, _ in
            page.cursor.map { .query(["cursor": .init($0)]) }
        }
        for try await page in pages { all += page.items }
        #expect(all == [1, 2, 3, 4])
    }

    @Test("A search by POST has its cursor in the body")
    func body() async throws {
        let transport = MockTransport { request in
            request.body.inMemory == Data("1".utf8)
                ? .ok(json: ["items": [1], "cursor": "2"])
                : .ok(json: ["items": [2], "cursor": nil])
        }
        let call = client(transport).post("s", body: .text("1"))
        var all: [Int] = []
        let pages = call.pages(of: Found.self) { page, _ in page.cursor.map { .body(.text($0)) } }
        for try await page in pages { all += page.items }
        #expect(all == [1, 2])
        #expect(transport.sent.map { $0.request.method } == [.post, .post])
    }

    @Test(
        "A next page of another origin is not requested, nor one that was read",
        arguments: [
            ("<http://b.example/n>; rel=next", "has another origin"),
            ("<//b.example/n>; rel=next", "has another origin"),
            ("<http://a.example:81/n>; rel=next", "has another origin"),
            ("<ftp://a.example/n>; rel=next", "has another origin"),
            ("<?>; rel=next", "was read before"), ("</n?>; rel=next", "was read before"),
        ])
    func refused(link: String, expected: String) async throws {
        let transport = MockTransport([.any(.ok(json: [1], headers: ["Link": link]))])
        var iterator = client(transport).get("n?").pages(of: [Int].self).makeAsyncIterator()
        #expect(try await iterator.next() == [1])
        do {
            _ = try await iterator.next()
            Issue.record("a page came")
        } catch let error as ClientError {
            #expect(error.code == .validation)
            #expect(error.message.contains(expected), "\(error.message)")
        }
        #expect(transport.sent.count == 1)
        // It has ended.
        #expect(try await iterator.next() == nil)
    }

    @Test("The place that http is connected to is not that of https")
    func connectTargets() async throws {
        let transport = MockTransport([
            .on(
                .get, "/",
                .ok(json: [1], headers: ["Link": "<http://a.example/m>; rel=next"])),
            .on(
                .get, "/m",
                .ok(json: [1], headers: ["Link": "<https://a.example/n>; rel=next"])),
            .on(.get, "/n", .ok(json: [2])),
        ])
        let client = Client(transport: transport, stack: [])
        var request = Request(.get, "http://a.example/")
        request.options.connectTarget = .host("10.0.0.7", port: 8080)
        for try await _ in client.request(request).pages(of: [Int].self) {}
        let targets = transport.sent.map(\.request.options.connectTarget?.description)
        #expect(targets == ["10.0.0.7:8080", "10.0.0.7:8080", nil])
    }

    @Test("An upgrade to https is no other origin, and a user in a link is nobody")
    func upgrade() async throws {
        let transport = MockTransport([
            .on(
                .get, "/n",
                .ok(json: [1], headers: ["Link": "<https://me:pw@a.example/m>; rel=next"])),
            .on(.get, "/m", .ok(json: [2])),
        ])
        #expect(try await numbers(client(transport).get("n").pages(of: [Int].self)) == [1, 2])
        #expect(transport.sent.last?.request.url.absoluteString == "https://a.example/m")
        #expect(transport.sent.last?.request.headers.contains(.authorization) == false)
    }

    @Test("More pages than the limit fail after the pages before")
    func limit() async throws {
        let transport = MockTransport { request in
            let page = Int(request.targetURI.originForm.dropFirst(2)) ?? 0
            return .ok(
                json: [.number(JSONNumber(page))], headers: ["Link": "</n\(page + 1)>; rel=next"])
        }
        var seen: [[Int]] = []
        let error = await #expect(throws: ClientError.self) {
            for try await page in client(transport).get("n0").pages(of: [Int].self, limit: 3) {
                seen.append(page)
            }
        }
        #expect(error?.code == .tooLarge)
        #expect(seen == [[0], [1], [2]])
    }

    @Test("A link of another resource leads nowhere")
    func anchor() async throws {
        let transport = MockTransport([
            .on(.get, "/n", .ok(json: [1], headers: ["Link": "</m>; rel=next; anchor=\"/other\""]))
        ])
        #expect(try await numbers(client(transport).get("n").pages(of: [Int].self)) == [1])
    }

    @Test("A URL that a gate finds is the first page's")
    func base() async throws {
        let transport = MockTransport([
            .on(.get, "/v1/n", .ok(json: [1], headers: ["Link": "<n2>; rel=next"])),
            .on(.get, "/v1/n2", .ok(json: [2])),
        ])
        let client = client(transport, [BaseURL("http://a.example/v1/")], base: nil)
        #expect(try await numbers(client.get("n").pages(of: [Int].self)) == [1, 2])
    }
}
