import Foundation
import Testing
import TurnpikeCache
import TurnpikeCore
import TurnpikeSerializers
import TurnpikeTesting

@Suite("The cache in stack files")
struct CacheSettingsTests {
    private func issues(_ gate: String) throws -> [String] {
        var registry = Registry.standardForTests
        registry.registerCache()
        let text = "{\"transport\": {\"use\": \"mock\"}, \"stack\": [\(gate)]}"
        return try StackFile(JSONValue(parsing: Data(text.utf8))).check(with: registry)
            .map(\.description)
    }

    @Test("Its settings are known, and mistakes are told with their place")
    func settings() throws {
        #expect(try issues("{\"use\": \"cache\"}").isEmpty)
        let folder = TemporaryFolder()
        let full = """
            {"use": "cache", "memory": 1048576, "directory": "\(folder.path)/c", "disk": 1000000,
             "staleIfError": 60}
            """
        #expect(try issues(full).isEmpty)
        // Nothing is made by a check.
        #expect(folder.items.isEmpty)
        let wrong = try issues("{\"use\": \"cache\", \"memory\": -1, \"directoy\": \"x\"}")
        #expect(wrong.count == 2)
        #expect(wrong.contains { $0.contains("stack[0].memory") })
        #expect(wrong.contains { $0.contains("stack[0].directoy") })
    }
}

extension Registry {
    fileprivate static var standardForTests: Registry {
        var registry = Registry()
        registry.register(transport: "mock") { _ in MockTransport { _ in .ok() } }
        return registry
    }
}
