// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Turnpike

/// The events of a test in order.
final class Notes: Sendable {
    private let notes = Mutex<[String]>([])

    var all: [String] { notes.withLock { $0 } }

    func add(_ note: String) { notes.withLock { $0.append(note) } }
}

/// Adds a note at the shutdown.
struct Closing: SynchronousRequestAdapter {
    let gateName: String
    let notes: Notes

    func adapt(_ request: inout Request, context: Context) {}

    func shutdown() async { notes.add(gateName) }
}

/// Adds a note with the number of running calls at the shutdown.
final class ClosingTransport: Transport {
    let base: any Transport
    let notes: Notes

    init(_ base: any Transport, _ notes: Notes) { (self.base, self.notes) = (base, notes) }

    var capabilities: TransportCapabilities { base.capabilities }
    var provesClient: Bool { base.provesClient }

    var canEndProcess: Bool { base.canEndProcess }

    func send(_ request: Request, context: Context) async throws -> Response {
        try await base.send(request, context: context)
    }

    func shutdown() async {
        await base.shutdown()
        notes.add("transport")
    }
}
