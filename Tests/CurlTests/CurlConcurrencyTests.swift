import Foundation
import Testing
import Turnpike
import TurnpikeTesting

@testable import TurnpikeCurl

/// Calls that begin, end and are given up at once; for the thread sanitizer.
@Suite("CurlTransport under concurrent calls")
struct CurlConcurrencyTests {
    @Test("A thousand calls of every kind, half of them cancelled at any moment")
    func storm() async throws {
        let fixture = try CurlFixture()
        let (server, client) = (fixture.server, fixture.client)
        server.route("/plain", .data(Data(count: 1024)))
        server.route("/large", .bytes(1 << 20))
        server.route("/sink", .handler { .text(String($0.bodyBytes)) })
        server.route("/held", .silence)
        let ends = await withTaskGroup(of: Void.self) { group in
            var ends = 0
            for number in 0..<1000 {
                if number >= 50, await group.next() != nil { ends += 1 }
                group.addTask { await Self.run(number, client) }
            }
            for await _ in group { ends += 1 }
            return ends
        }
        #expect(ends == 1000)
        #expect(try await client.get("plain").data().count == 1024)
        await client.shutdown()
        await server.wait { $0.open == 0 }
    }

    private static func run(_ number: Int, _ client: Client) async {
        let call = Task {
            switch number % 5 {
            case 0, 1: _ = try await client.get("plain").data()
            case 2: _ = try await client.get("large").data()
            case 3:
                let body = RequestBody.stream { Pieces(Data(count: 200_000)) }
                #expect(try await client.post("sink", body: body).string() == "200000")
            default: _ = try await client.get("held").deadline(.milliseconds(5)).data()
            }
        }
        if number % 2 == 0 {
            for _ in 0..<(number % 37) { await Task.yield() }
            call.cancel()
        }
        _ = await call.result
    }

    @Test("A shutdown ends an upload whose content comes by the same transport")
    func forwarding() async {
        // Where it went wrong the process ended, or stood still.
        await #expect(processExitsWith: .success) {
            let server = try TestServer()
            let parts = [Data("some".utf8), Data("rest".utf8)]
            server.route("/from", .chunked(parts, holding: TestHold(), before: 1))
            server.route("/to", .echo)
            let transport = try CurlTransport()
            let client = Client(
                baseURL: server.target, transport: transport, stack: [.deadline(.seconds(30))])
            let source = try await client.get("from").response().body
            let upload = Task {
                try await client.post("to", body: .stream(live: true) { source }).data()
            }
            await server.waitForRequests(2)
            await transport.shutdown()
            await #expect(throws: ClientError.self) { try await upload.value }
        }
    }

    @Test("Shutdowns in the midst of work end every call")
    func shutdowns() async throws {
        let server = try TestServer()
        server.route("/plain", .data(Data(count: 1024)))
        server.route("/held", .silence)
        for wave in 0..<20 {
            let transport = try CurlTransport()
            let client = Client(baseURL: server.target, transport: transport, stack: [])
            await withTaskGroup { group in
                for number in 0..<20 {
                    group.addTask {
                        for _ in 0..<5 {
                            _ = try? await client.get(number % 4 == 0 ? "held" : "plain").data()
                        }
                    }
                }
                for _ in 0..<(wave * 20) { await Task.yield() }
                await transport.shutdown()
            }
        }
        await server.wait { $0.open == 0 }
    }
}
