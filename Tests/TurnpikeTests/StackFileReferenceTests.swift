// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeAuthentication
import TurnpikeAuthenticationStackFiles
import TurnpikeCache
import TurnpikeCacheStackFiles
import TurnpikeStackFiles
import TurnpikeTesting
import TurnpikeTraffic
import TurnpikeTrafficStackFiles

/// What authors of gates write to have them in the reference and in the schema.
@Suite("Reference and schema of stack files with gates of a user")
struct StackFileReferenceTests {
    private struct TenantHeader: RequestAdapter {
        let tenant: String

        func adapt(_ request: inout Request, context: Context) async throws {
            request.headers["X-Tenant"] = tenant
        }
    }

    private var registry: Registry {
        var registry = Registry.standard
        registry.register(
            gate: "tenant",
            description: PartDescription(
                "Names the tenant of each request.",
                settings: ["name": "The tenant."],
                example: #"{"use": "tenant", "name": "blue"}"#)
        ) { settings in
            TenantHeader(tenant: settings.required("name"))
        }
        return registry
    }

    @Test("The reference has the gate, and nothing is left to describe")
    func reference() {
        let text = registry.reference()
        #expect(text.contains("### tenant\n\nNames the tenant of each request."))
        #expect(text.contains("| `name` | a string | required | The tenant. |"))
        #expect(text.contains(#"{"use": "tenant", "name": "blue"}"#))
        #expect(registry.checkReference().isEmpty)
    }

    @Test("The schema has the gate")
    func schema() throws {
        let gate = try #require(registry.schema()["$defs"]?["gate-tenant"])
        #expect(gate["required"] == ["use", "name"])
        #expect(gate["properties"]?["name"]?["description"] == "The tenant.")
    }

    private static let shared: KeyValuePairs<String, SettingDescription> = [
        "zone": "The zone.", "region": .init("The region.", default: "eu"),
    ]

    @Test("Gates share descriptions of settings, which keep their order")
    func shared() throws {
        var registry = Registry.standard
        for (name, own) in [("tenant", "The tenant."), ("shop", "The shop.")] {
            registry.register(
                gate: name,
                description: PartDescription(
                    "Sends a name.", settings: Self.shared + [(key: name, value: .init(own))],
                    example: #"{"use": "\#(name)", "\#(name)": "blue"}"#)
            ) { settings in
                _ = (settings.string("zone"), settings.string("region"))
                return TenantHeader(tenant: settings.required(name))
            }
        }
        #expect(registry.checkReference().isEmpty)
        #expect(
            registry.reference().contains(
                """
                | `zone` | a string | none | The zone. |
                | `region` | a string | `"eu"` | The region. |
                | `shop` | a string | required | The shop. |
                """))
        let description = PartDescription("Paints.", settings: Self.shared + [("a", "An A.")])
        #expect(description.settings.map(\.key) == ["zone", "region", "a"])
        #expect(PartDescription("Paints.", settings: description.settings).settings.count == 3)
        #expect(PartDescription("Paints.").settings.isEmpty)
    }

    @Test("A file that names its schema is loaded, and reloaded")
    func named() throws {
        let text = #"{"$schema": "./stack.schema.json", "stack": [{"use": "tenant", "name": "a"}]}"#
        let file = try StackFile(parsing: Data(text.utf8))
        let client = try ConfiguredClient(
            file, registry: registry, serializers: .standard)
        try client.reload(StackFile(parsing: Data(text.replacing("./", with: "../").utf8)))
    }

    /// Each gate that a file can name, made in code by the factory of that name.
    private static let gates: [(String, any Gate)] = [
        ("admissionControl", .admissionControl()), ("attemptTimeout", .attemptTimeout()),
        ("basic", .basic(user: "u", password: "p")), ("bearer", .bearer(token: "t")),
        ("cache", .cache()), ("chaos", .chaos(.droppedBody)), ("circuitBreaker", .circuitBreaker()),
        ("coalesce", .coalesce()),
        ("compressBodies", .compressBodies()), ("concurrencyLimit", .concurrencyLimit()),
        ("cookies", .cookies()), ("deadline", .deadline()), ("defaultHeaders", .defaultHeaders()),
        ("digest", .digest(user: "u", password: "p")),
        ("fallback", .fallback(status: .ok)),
        ("hedge", .hedge()), ("hsts", .hsts()), ("idempotencyKey", .idempotencyKey()),
        ("idleTimeout", .idleTimeout()), ("limits", .limits()), ("log", .log(to: .standardError)),
        ("metrics", .metrics(MetricsStore())), ("propagateDeadline", .propagateDeadline()),
        ("rateLimit", .rateLimit(perSecond: 1)),
        ("redirect", .redirect()), ("requestID", .requestID()), ("retry", .retry()),
        ("setHeaders", .setHeaders()), ("traceContext", .traceContext()),
        ("urlPolicy", .urlPolicy()), ("userAgent", .userAgent()), ("validate", .validate()),
    ]

    @Test("A gate has the same name in files and in code")
    func names() {
        var registry = Registry.standard
        registry.registerAuthentication()
        registry.registerCache()
        registry.registerTraffic()
        let text = registry.reference()
        let sections = text.components(separatedBy: "\n## Gates\n")[1]
            .components(separatedBy: "\n### ").dropFirst()
        let inFiles = sections.map { section in
            let name = section.prefix { $0 != "\n" }
            let type = section.components(separatedBy: "In code: `").dropFirst().first?
                .prefix { $0 != "`" }
            return "\(name) \(type ?? "")"
        }
        #expect(inFiles == Self.gates.map { "\($0) \(String(reflecting: type(of: $1)))" })
    }
}
