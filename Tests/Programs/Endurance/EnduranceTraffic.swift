// SPDX-License-Identifier: Apache-2.0

import Foundation
import Turnpike
import TurnpikeCurl
import TurnpikeCurlStackFiles
import TurnpikeStackFiles

/// The requests of a run, of many kinds in turn, each with an outcome of its own.
struct EnduranceTraffic {
    private enum Kind: CaseIterable {
        case plain, redirected, missing, dropped, late
        // At this program's own server alone.
        case collected, busy, sent, compressed, streamed, cut, reset, cancelled, halfSent

        static let everywhere: [Kind] = [.plain, .redirected, .missing, .dropped, .late]

        /// How such a request ends; nil where it ends well.
        var error: ClientError.Code? {
            switch self {
            case .plain, .redirected, .collected, .sent, .compressed, .streamed: nil
            case .missing, .busy: .validation
            case .late: .deadlineExceeded
            case .cut: .incomplete
            case .reset: .connection
            case .dropped, .cancelled, .halfSent: .cancelled
            }
        }
    }

    private let client: Client
    private let kinds: [Kind]
    private let mebibytes: Int

    /// - Parameters:
    ///   - url: The server.
    ///   - authority: Whom a server of others is trusted by, which then speaks HTTP/2.
    ///   - mebibytes: The size of what is collected, one of ``EnduranceServer/sizes``.
    /// - Throws: A `ClientError` where libcurl cannot be had.
    init(_ url: URL, authority: String?, mebibytes: Int) throws {
        var registry = Registry.standard
        registry.registerCurl()
        var transport: JSONValue = ["use": "curl"]
        if let authority {
            transport = ["use": "curl", "http2": true, "trust": ["ca": .string(authority)]]
        }
        let file = try StackFile([
            "baseURL": .string(url.absoluteString), "transport": transport,
            "stack": [
                ["use": "deadline"], ["use": "validate"], ["use": "redirect"],
                ["use": "retry", "attempts": 2, "base": 0.001, "max": 0.001],
                ["use": "attemptTimeout"], ["use": "idleTimeout"], ["use": "limits"],
            ],
        ])
        client = try ConfiguredClient(file, registry: registry, serializers: .standard).client
        self.mebibytes = mebibytes
        kinds = authority == nil ? Kind.allCases : Kind.everywhere
    }

    func shutdown() async { await client.shutdown() }

    /// Opens a number of connections to this program's own server, unless so many are open.
    func connect(_ count: Int) async throws {
        // With others the calls share one.
        guard kinds.contains(.collected) else { return }
        try await withThrowingTaskGroup { group in
            for _ in 0..<count {
                group.addTask { try await collect(client.get(Target("large/1")), atLeast: 1 << 20) }
            }
            try await group.waitForAll()
        }
    }

    /// Sends a request.
    /// - Throws: An ``EnduranceFailure`` where it ended otherwise than its kind does.
    func send(_ number: Int) async throws {
        let kind = kinds[number % kinds.count]
        let error: (any Error)?
        do {
            try await receive(kind)
            error = nil
        } catch let thrown {
            error = thrown
        }
        let code = error is CancellationError ? .cancelled : (error as? ClientError)?.code
        guard code == kind.error, (error == nil) == (code == nil) else {
            let end = error.map { "\($0)" } ?? "a success"
            throw EnduranceFailure("request \(number), a \(kind), ended with \(end)")
        }
    }

    private func receive(_ kind: Kind) async throws {
        switch kind {
        case .plain: try await collect(client.get("a.json"), atLeast: 500)
        case .redirected: try await collect(client.get("elsewhere"), atLeast: 4)
        case .missing: try await collect(client.get("nowhere"))
        case .dropped: try await read(client.get("big.bin"), goesOn: false)
        case .late: try await read(client.get("big.bin").deadline(.milliseconds(10)), goesOn: true)
        case .collected:
            let large = client.get(Target("large/\(mebibytes)"))
            try await collect(large, atLeast: mebibytes << 20)
        case .busy: try await collect(client.get("busy"))
        case .sent: try await post(.data(Data(repeating: 0x73, count: 20_000)), to: "sink")
        case .compressed:
            let body = RequestBody.text(String(repeating: "hello", count: 4000))
            try await collect(
                client.post("sink", body: body).through(.compressBodies()), atLeast: 2)
        case .streamed: try await post(.stream { Chunks(left: 200_000) }, to: "sink")
        case .cut: try await post(.text("x"), to: "cut")
        case .reset: try await post(.text("x"), to: "reset")
        case .cancelled: try await cancel(client.get("silence"))
        case .halfSent:
            try await cancel(client.post("unread", body: .stream { Chunks(left: .max) }))
        }
    }

    private func collect(_ call: Call, atLeast count: Int = 0) async throws {
        let data = try await call.data()
        if data.count < count { throw EnduranceFailure("only \(data.count) bytes came") }
    }

    private func post(_ body: RequestBody, to path: Target) async throws {
        try await collect(client.post(path, body: body), atLeast: 2)
    }

    /// Reads a little of a body and rests until the server is held back; then reads on just as
    /// slowly, or lets go of it.
    private func read(_ call: Call, goesOn: Bool) async throws {
        for try await _ in try await call.response().body {
            try await Task.sleep(for: .milliseconds(3))
            if !goesOn { throw CancellationError() }
        }
    }

    private func cancel(_ call: Call) async throws {
        let task = Task { try await call.data() }
        try await Task.sleep(for: .milliseconds(1))
        task.cancel()
        _ = try await task.value
    }
}

/// A body that is made in parts.
private struct Chunks: AsyncSequence, AsyncIteratorProtocol {
    var left: Int

    func makeAsyncIterator() -> Self { self }

    mutating func next() async -> Data? {
        let count = Swift.min(left, 50_000)
        left -= count
        return count == 0 || Task.isCancelled ? nil : Data(repeating: 0x63, count: count)
    }
}
