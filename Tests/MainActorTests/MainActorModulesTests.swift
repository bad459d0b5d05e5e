// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeTesting

@Suite("A module of the main actor")
struct MainActorModulesTests {
    private let mars: JSONValue = ["name": "Mars", "moons": 2]
    private let folder = FileManager.default.temporaryDirectory
        .appending(path: "turnpike-\(UUID())/", directoryHint: .isDirectory)

    private func client(_ stubs: MockStub..., stack: Stack = [.validate()]) -> Client {
        Client(baseURL: "http://a.example/", transport: MockTransport(stubs), stack: stack)
    }

    @Test("A model of the main actor calls and decodes")
    func load() async throws {
        let model = PlanetModel(client: client(.any(.ok(json: mars))))
        try await model.load()
        #expect(model.planet?.name == "Mars")
        let planets = client(.any(.ok(json: [mars, mars])))
        #expect(try await moonCount(planets) == 4)
    }

    @Test("The progress of a download changes the model where it is reported")
    func download() async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let model = PlanetModel(
            client: client(
                .any(.status(200, headers: ["Content-Length": "7"], body: Data(count: 7)))))
        try await model.saveMap(to: folder)
        #expect(model.fraction == 1)
        #expect(try Data(contentsOf: folder.appending(path: "3")).count == 7)
    }

    @Test("The progress of an upload is read as a sequence")
    func upload() async throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "map")
        try Data(count: 7).write(to: file)
        let transport = MockTransport { _ in .status(201) }
        let model = PlanetModel(client: Client(baseURL: "http://a.example/", transport: transport))
        try await model.sendMap(file)
        #expect(transport.sentCount == 1)
    }

    @Test("Gates, a transport and a serializer work as in any module")
    func plugins() async throws {
        let mock = MockTransport { request in
            request.url.path() == "/private"
                ? .status(401) : .ok(text: "a,b\n1,2\n", headers: ["Content-Type": "text/csv"])
        }
        let transport = CountingTransport(mock)
        let notes = Notes()
        let client = Client(baseURL: "http://a.example/", transport: transport) {
            TenantName(tenant: "blue")
            SignOut { notes.refusals += 1 }
        }
        #expect(try await client.get("rows").rows() == [["a", "b"], ["1", "2"]])
        #expect(mock.sent.first?.request.headers["X-Tenant"] == "blue")
        try await client.get("private").empty()
        #expect(notes.refusals == 1 && transport.sentCount == 2)
        await client.shutdown()
    }

    @Test("Keys of such a module are read in gates")
    func keys() async throws {
        let transport = MockTransport { _ in .ok() }
        let client = Client(transport: transport) { TenantOfCall() }
        try await client.get("http://a.example/").option(TenantOption.self, "red").empty()
        #expect(transport.sent.first?.request.headers["X-Tenant"] == "red")
    }
}

final class Notes {
    var refusals = 0
}
