// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeAuthenticationStackFiles
import TurnpikeStackFiles
import TurnpikeTrafficStackFiles

/// Texts that a stack file takes from the environment or from a file, in each place that takes a text,
/// right or wrong.
@Suite("Secrets that stack files refer to")
struct SecretsOfStackFilesTests {
    /// Parts of a stack file; `@` stands for the reference.
    private static let places = [
        #"{"baseURL": @}"#, #"{"transport": {"use": @}}"#, #"{"transport": @}"#, #"{"stack": @}"#,
        #"{"transport": {"use": "urlsession", "maxConnectionsPerHost": @}}"#,
        #"{"transport": {"use": "mock", "responses": [{"status": 200, "headers": [["X-A", @]], "text": @}]}}"#,
        #"{"transport": {"use": "mock", "responses": [{"headers": [[@, "x"]], "base64": @}]}}"#,
        #"{"stack": [{"use": @}]}"#, #"{"stack": [@]}"#,
        #"{"stack": [{"use": "log", "level": @, "format": @, "to": @, "redactHeaders": [@], "redactQuery": [@]}]}"#,
        #"{"stack": [{"use": "log", "sampling": @, "body": @, "id": @}, {"use": "log", "id": @}]}"#,
        #"{"stack": [{"use": "metrics", "to": @}, {"use": "circuitBreaker", "metrics": @}]}"#,
        #"{"stack": [{"use": "basic", "user": @, "password": @, "origins": [@]}]}"#,
        #"{"stack": [{"use": "digest", "user": @, "password": @, "origins": @}]}"#,
        #"{"stack": [{"use": "bearer", "token": @, "refreshURL": @, "clientID": @, "clientSecret": @, "scope": @}]}"#,
        #"{"stack": [{"use": "bearer", "refreshURL": @, "grant": @, "clientAuthentication": @}]}"#,
        #"{"stack": [{"use": "setHeaders", "set": [["X-A", @], [@, "x"]], "origins": [@]}]}"#,
        #"{"stack": [{"use": "defaultHeaders", "set": [[@, @]], "languages": [@]}]}"#,
        #"{"stack": [{"use": "retry", "methods": [@], "statuses": [@], "attempts": @}]}"#,
        #"{"stack": [{"use": "urlPolicy", "schemes": [@], "hosts": [@], "allow": [@], "deny": [@]}]}"#,
        #"{"stack": [{"use": "validate", "status": [@], "contentType": [@]}]}"#,
        #"{"stack": [{"use": "userAgent", "value": @}, {"use": "requestID", "header": @}]}"#,
        #"{"stack": [{"use": "idempotencyKey", "header": @}, {"use": "deadline", "seconds": @}]}"#,
        #"{"stack": [{"use": "cookies", "file": @, "policy": @}, {"use": "hsts", "file": @}]}"#,
        #"{"stack": [{"use": "only", "origins": [@], "stack": [{"use": @}]}]}"#,
        #"{"stack": [{"use": "when", "methods": [@], "hosts": [@], "then": @}]}"#,
        #"{"stack": [{"use": "fallback", "status": @, "text": @, "headers": [[@, @]]}]}"#,
        #"{"stack": [{"use": "cache", "folder": @}, {"use": "compressBodies", "coding": @}]}"#,
    ]

    /// What the reference stands for: secrets that are near to nothing, or to what is allowed.
    ///
    /// `Tests/Support/Environment` sets them.
    private static let variables = (0...5).map { "TURNPIKE_PLANTED_\($0)" }

    @Test("No message contains a secret", arguments: places)
    func references(place: String) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        var registry = Registry.standard
        registry.registerAuthentication()
        registry.registerTraffic()
        for variable in Self.variables {
            let value = try #require(ProcessInfo.processInfo.environment[variable])
            try Data(value.utf8).write(to: file)
            for reference in [["file": file.path(percentEncoded: false)], ["env": variable]] {
                let json = try #require(
                    String(data: JSONEncoder().encode(reference), encoding: .utf8))
                let text = place.replacing("@", with: json)
                let issues = try StackFile(parsing: Data(text.utf8)).check(with: registry)
                let texts = issues.map { "\($0)" } + issues.map { String(reflecting: $0) }
                #expect(PlantedSecret.leaks(in: texts).isEmpty, "\(texts)")
                // What is right would be built, with its files.
                if issues.isEmpty { continue }
                let parsed = try StackFile(parsing: Data(text.utf8))
                let error = try #require(throws: ClientError.self) {
                    try ConfiguredClient(parsed, registry: registry, serializers: .standard)
                }
                let thrown = ["\(error)", String(reflecting: error), error.localizedDescription]
                #expect(PlantedSecret.leaks(in: thrown).isEmpty, "\(thrown)")
            }
        }
    }

    @Test(
        "A wrong choice from a reference is reported without a suggestion, others with one")
    func choice() throws {
        let variable = "TURNPIKE_PLANTED_LEVEL"
        func message(_ level: String) throws -> String {
            let text = #"{"stack": [{"use": "log", "level": \#(level)}]}"#
            return try #require(StackFile(parsing: Data(text.utf8)).check(with: .standard).first)
                .message
        }
        #expect(
            try message("{\"env\": \"\(variable)\"}")
                == "the referenced string is not known; allowed: debug, error, info")
        #expect(try message("\"debgu\"") == "\"debgu\" is not known; did you mean \"debug\"?")
    }
}
