import Foundation
import Testing
import Turnpike
import TurnpikeTesting

/// Calls that begin, end and are given up at once; for the thread sanitizer.
@Suite("URLSessionTransport under concurrent calls")
struct URLSessionConcurrencyTests {
    @Test("Two hundred calls of every kind at once, half of them cancelled at any moment")
    func storm() async throws {
        let server = try TestServer()
        let client = Client(
            baseURL: server.target, transport: URLSessionTransport(), stack: [],
            serializers: .standard)
        server.route("/plain", .data(Data(count: 1024)))
        server.route("/large", .bytes(1 << 18))
        server.route("/sink", .handler { .text(String($0.bodyBytes)) })
        server.route("/held", .silence)
        let ends = await withTaskGroup(of: Bool.self) { group in
            for number in 0..<200 {
                group.addTask { await Self.run(number, client) }
            }
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(ends >= 80, "those that nobody cancelled and that do not wait for ever")
        #expect(try await client.get("plain").data().count == 1024)
        await client.shutdown()
        await server.wait { $0.open == 0 }
    }

    /// Whether a call came to a good end.
    private static func run(_ number: Int, _ client: Client) async -> Bool {
        let call = Task {
            switch number % 5 {
            case 0, 1: #expect(try await client.get("plain").data().count == 1024)
            case 2: #expect(try await client.get("large").data().count == 1 << 18)
            case 3:
                let body = RequestBody.data(Data(count: 50_000))
                #expect(try await client.post("sink", body: body).string() == "50000")
            default: _ = try await client.get("held").deadline(.milliseconds(50)).data()
            }
        }
        if number % 2 == 0 {
            for _ in 0..<(number % 37) { await Task.yield() }
            call.cancel()
        }
        if case .success = await call.result { return true }
        return false
    }

    @Test("A session that is shut down in the midst of work ends every call")
    func shutdowns() async throws {
        let server = try TestServer()
        server.route("/plain", .data(Data(count: 1024)))
        server.route("/held", .silence)
        for wave in 0..<5 {
            let transport = URLSessionTransport()
            let client = Client(
                baseURL: server.target, transport: transport, stack: [], serializers: .standard)
            await withTaskGroup { group in
                for number in 0..<20 {
                    group.addTask {
                        for _ in 0..<3 {
                            _ = try? await client.get(number % 4 == 0 ? "held" : "plain").data()
                        }
                    }
                }
                for _ in 0..<(wave * 50) { await Task.yield() }
                await client.shutdown()
            }
        }
        await server.wait { $0.open == 0 }
    }
}
