// SPDX-License-Identifier: Apache-2.0

import Synchronization

@testable import TurnpikeCore
@testable import TurnpikeStackFiles

/// Adds a value to `X-Mark`.
struct Mark: SynchronousRequestAdapter {
    let text: String

    func adapt(_ request: inout Request, context: Context) {
        request.headers.append("X-Mark", text)
    }
}

/// Counts the calls that pass it, also those that passed it before a reload.
struct Counter: SynchronousRequestAdapter {
    final class Count: Sendable {
        private let kept = Mutex(0)

        func next() -> Int {
            kept.withLock { count in
                count += 1
                return count
            }
        }
    }

    let count: Count

    func adapt(_ request: inout Request, context: Context) {
        request.headers["X-Count"] = String(count.next())
    }
}

extension Registry {
    /// Names for tests, over a transport that is the default of files without one.
    static func forTests(
        _ transport: MockTransport = MockTransport { _ in .status(200) }
    ) -> Registry {
        var registry = Registry()
        registry.register(transport: "test") { _ in transport }
        registry.registerTransports()
        registry.register(gate: "mark") { Mark(text: $0.string("text") ?? "") }
        registry.register(gate: "broken") { _ in
            throw ClientError(.configuration, "it is broken")
        }
        registry.register(gate: "counter") { settings in
            let ratio = settings.int("ratio", default: 1, in: 1...9)
            _ = settings.string("note")
            return Counter(count: settings.reloadable("count", for: ratio) { Counter.Count() })
        }
        registry.register(stack: "standard") { [Mark(text: "standard")] }
        return registry
    }
}
