// SPDX-License-Identifier: Apache-2.0

package import Foundation
import Synchronization
package import TurnpikeCore
import TurnpikeTesting

package let anywhere: Target = "http://a.example/x"

extension Client {
    /// A client without serializers, whose random numbers are the same in each run.
    package convenience init(
        _ transport: any Transport, clock: any TimeSource = ManualClock(), seed: UInt64 = 1,
        _ stack: Stack
    ) {
        self.init(
            transport: transport, stack: stack, serializers: SerializerTable(), timeSource: clock,
            randomSource: SeededRandomSource(seed: seed))
    }

    /// A client without serializers, with gates from the outermost to the innermost.
    package convenience init(
        _ transport: any Transport, clock: any TimeSource = ManualClock(), _ gates: any Gate...
    ) {
        self.init(transport, clock: clock, Stack(gates))
    }
}

/// A gate that is a closure.
package struct Around: Interceptor {
    package let body: @Sendable (Request, Context, Next) async throws -> Response

    package init(
        _ body: @escaping @Sendable (Request, Context, Next) async throws -> Response
    ) {
        self.body = body
    }

    package func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        try await body(request, context, next)
    }
}

/// The content as text.
package struct Text: ContentSerializer {
    package init() {}

    package func serialize(_ content: Data, of head: ResponseHead) -> String {
        String(decoding: content, as: UTF8.self)
    }
}

extension MockTransport {
    /// Waits until a number of requests have been sent.
    package func waitForSends(_ count: Int) async throws {
        try await until("\(count) sent requests") { sentCount >= count }
    }
}

/// Where a gate or a provider finds a client that was made after it.
package final class ClientBox: Sendable {
    private let held = Mutex<Client?>(nil)

    package var client: Client? {
        get { held.withLock { $0 } }
        set { held.withLock { $0 = newValue } }
    }

    package init() {}
}
