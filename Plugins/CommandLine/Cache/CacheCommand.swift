// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeCache

enum CacheCommand {
    static func run(_ arguments: [String], _ terminal: Terminal) async -> Int32 {
        if let help = Help.asked(arguments, .cache, terminal) { return help }
        let rest = Array(arguments.dropFirst())
        guard let directory = rest.first, !directory.hasPrefix("-") else {
            return usage(terminal)
        }
        guard DiskStore.exists(in: directory) else {
            terminal.error("\(directory): there is no cache")
            return ExitCode.usage
        }
        // This cache serves no call, and any partition is suitable.
        let cache = Cache(DiskStore(directory: directory, maxBytes: .max), partition: "")
        do {
            switch (arguments[0], rest.count) {
            case ("list", 1): try await list(cache, terminal)
            case ("purge", 1): try await purge(cache, nil, terminal)
            case ("purge", 2): try await purge(cache, rest[1], terminal)
            default: return usage(terminal)
            }
            return ExitCode.success
        } catch let error as ClientError {
            terminal.error(error.message)
            return ExitCode.of(error)
        } catch let error as OutputError {
            return terminal.ended(by: error)
        } catch {
            terminal.error("\(directory): \(error)")
            return ExitCode.file
        }
    }

    private static func usage(_ terminal: Terminal) -> Int32 {
        terminal.error(
            "cache needs list or purge, and then a folder; see turnpike cache --help")
        return ExitCode.usage
    }

    private static func list(_ cache: Cache, _ terminal: Terminal) async throws {
        let date = SystemTimeSource().date
        for listing in try await cache.list() {
            let response = listing.response
            let fields = [
                String(response.head.status.code), String(listing.length),
                String(response.age(at: date).components.seconds),
                String(response.timeLeft(at: date).components.seconds),
                Redaction.standard.url(response.key.url),
            ]
            try terminal.line(fields.joined(separator: "\t"))
        }
    }

    private static func purge(
        _ cache: Cache, _ target: String?, _ terminal: Terminal
    ) async throws {
        let count: Int
        if let target {
            guard let url = URL(string: target), CacheKey(url) != nil else {
                throw ClientError(.invalidRequest, "the URL to purge is not an http or https URL")
            }
            count = try await cache.purge(url)
        } else {
            count = try await cache.purge { _ in true }
        }
        await cache.shutdown()
        try terminal.line("\(count) removed")
    }
}
