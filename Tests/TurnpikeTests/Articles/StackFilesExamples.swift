// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Turnpike
import TurnpikeStackFiles
import TurnpikeTesting

/// The examples of the article.
enum StackFilesExamples {
    struct TenantHeader: SynchronousRequestAdapter {
        let tenant: String

        func adapt(_ request: inout Request, context: Context) {
            request.headers["X-Tenant"] = tenant
        }
    }

    struct Logger {
        func error(_ message: String) {}
    }

    static func read() throws -> Client {
        let file = try StackFile(contentsOf: URL(filePath: "stack.json"))
        let client = try ConfiguredClient(file).client
        return client
    }

    static func reload(_ configured: ConfiguredClient, _ url: URL, _ logger: Logger) {
        do {
            try configured.reload(StackFile(contentsOf: url))
        } catch {
            logger.error("the old stack stays in force: \(error)")
        }
    }

    static func reload(
        onSignal configured: ConfiguredClient, _ url: URL, _ logger: Logger
    ) async {
        for await _ in signals(SIGHUP) { reload(configured, url, logger) }
    }

    static func names(_ file: StackFile) throws -> Client {
        var registry = Registry.standard
        registry.register(gate: "tenant") { settings in
            TenantHeader(tenant: settings.required("name"))
        }
        let client = try ConfiguredClient(file, registry: registry, serializers: .standard).client
        return client
    }

    static func check(_ file: StackFile, _ registry: Registry) -> [ConfigurationIssue] {
        let issues = file.check(with: registry)  // opens and creates nothing
        return issues
    }

    static func description(_ registry: inout Registry) throws {
        registry.register(
            gate: "tenant",
            description: PartDescription(
                "Names the tenant of each request.",
                settings: ["name": "The tenant."],
                example: #"{"use": "tenant", "name": "blue"}"#)
        ) { settings in
            TenantHeader(tenant: settings.required("name"))
        }
        try registry.schema().data(pretty: true).write(to: URL(filePath: "stack.schema.json"))
    }
}
