// SPDX-License-Identifier: Apache-2.0

import Configuration
import Foundation
import Testing
import Turnpike
import TurnpikeAuthenticationStackFiles
import TurnpikeConfiguration
import TurnpikeStackFiles

@Suite("Mistakes in a configuration")
struct MistakeTests {
    private static let registry = {
        var registry = Registry.standard
        registry.registerAuthentication()
        return registry
    }()

    private func message(_ values: [AbsoluteConfigKey: ConfigValue]) throws -> String {
        let error = try #require(throws: ClientError.self) {
            try StackFile(config(values), Self.registry)
        }
        #expect(error.code == .configuration || error.code == .unsupported)
        return error.message
    }

    @Test("Are all told at once, in the JSON of one key")
    func text() throws {
        let message = try message([
            "stack": #"{"stack": [{"use": "retry", "attempts": "SECRET"}, {"use": "deadlin"}]}"#
        ])
        #expect(message.contains("stack[0].attempts: found a string; expected an integer"))
        #expect(message.contains("stack[1].use: there is no gate \"deadlin\""))
        #expect(!message.contains("SECRET"))
    }

    @Test("Are all told at once, by their keys, in a list of gates")
    func scopes() throws {
        let message = try message([
            "gates": names("deadline", "retry/outer", "basic", "nothing", "setHeaders"),
            "baseURL": "SECRET", "gate.deadline.seconds": -1, "gate.outer.attempts": "many",
            "gate.outer.metrics": true, "gate.basic.user": "svc",
            "gate.setHeaders.set": names("X-A: 1", "SECRET"),
        ])
        for line in [
            "baseURL: ", "gate.deadline.seconds: found -1; expected a number of seconds",
            "gate.outer.attempts: found a string; expected an integer", "gate.outer.metrics: ",
            "gate.basic.password: is missing", "gate.nothing.use: there is no gate \"nothing\"",
            "gate.setHeaders.set: found a field without a colon, number 2",
        ] { #expect(message.contains(line), "\(line) in \(message)") }
        #expect(!message.contains("SECRET"))
    }

    @Test(
        "Are told of the keys themselves",
        arguments: [
            ([:], "found none of the keys"),
            (["stack": "{}", "gates": names("limits")], "found stack and gates"),
            (["stack": "{"], "not JSON"), (["stack": 7], "stack: found a number"),
            (["stackFile": "/nowhere/stack.json"], "cannot be read"),
            (["gates": names("limits", "limits")], "the scope limits twice"),
            (["gates": names("")], "there is no gate"),
            (["gates": .init(.bytes([1]), isSecret: false)], "cannot be read; expected strings"),
            (["gates": names(), "transport.use": "curl"], "there is no transport"),
            (["gates": names(), "transport.use": 7], "transport.use: found a number"),
            (
                ["gates": names("compressBodies"), "gate.compressBodies.minimum": 0.5],
                "gate.compressBodies.minimum"
            ),
            (
                ["gates": names(), "transport.use": "urlsession", "transport.proxy": "http://p"],
                "does not support this"
            ),
        ] as [([AbsoluteConfigKey: ConfigValue], String)])
    func keys(_ values: [AbsoluteConfigKey: ConfigValue], _ part: String) throws {
        let message = try message(values)
        #expect(message.contains(part), "\(message)")
    }

    @Test("Are not hidden by a provider that fails")
    func provider() throws {
        let reader = ConfigReader(providers: [
            InMemoryProvider(values: ["gates": names("retry")]), FailingProvider(),
        ])
        let error = try #require(throws: ClientError.self) { try StackFile(reader) }
        #expect(error.message.contains("cannot be read"))
    }

    @Test("Are secrets in no access report")
    func accesses() throws {
        let (texts, accesses) = (Accesses(), Accesses())
        let json = #"{"stack": [{"use": "basic", "user": "svc", "password": "SECRET"}]}"#
        let text = config(["stack": .init(.string(json), isSecret: false)], reporter: texts)
        _ = try StackFile(text, Self.registry)
        #expect(texts.text.contains("stack"))
        #expect(!texts.text.contains("SECRET"))

        let scopes = config(
            [
                "gates": names("basic", "retry", "setHeaders", "bearer"),
                "baseURL": "https://u:SECRET@h/",
                "gate.basic.user": "SECRET", "gate.basic.password": "SECRET",
                "gate.retry.attempts": 4, "gate.setHeaders.set": names("X-Key: SECRET"),
                // Values of a wrong kind are read as each of the other kinds.
                "gate.bearer.token": names("SECRET"), "gate.retry.statuses": "SECRET",
            ], reporter: accesses)
        _ = try? StackFile(scopes, Self.registry)
        #expect(accesses.text.contains("gate.retry.attempts -> \"4\""))
        #expect(accesses.text.contains("gate.basic.password"))
        let lines = accesses.text.split(separator: "\n").filter { $0.contains("SECRET") }
        // A list of numbers is not secret, but a text in the same place may be secret.
        #expect(lines.allSatisfy { $0.contains("gate.retry.statuses") }, "\(lines)")
    }
}

/// A provider whose source is missing.
private struct FailingProvider: ConfigProvider, ConfigSnapshot {
    struct Failure: Error {}

    let providerName = "FailingProvider"

    func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
        throw Failure()
    }
    func fetchValue(forKey key: AbsoluteConfigKey, type: ConfigType) async throws -> LookupResult {
        throw Failure()
    }
    func snapshot() -> any ConfigSnapshot { self }
    func watchValue<Return: ~Copyable>(
        forKey key: AbsoluteConfigKey, type: ConfigType,
        updatesHandler: (
            ConfigUpdatesAsyncSequence<Result<LookupResult, any Error>, Never>
        ) async throws -> Return
    ) async throws -> Return {
        try await watchValueFromValue(forKey: key, type: type, updatesHandler: updatesHandler)
    }
    func watchSnapshot<Return: ~Copyable>(
        updatesHandler: (ConfigUpdatesAsyncSequence<any ConfigSnapshot, Never>) async throws ->
            Return
    ) async throws -> Return {
        try await watchSnapshotFromSnapshot(updatesHandler: updatesHandler)
    }
}
