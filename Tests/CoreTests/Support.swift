import Foundation
import Synchronization
import TurnpikeCore
import TurnpikeTesting

/// Notes in the order in which they were taken.
final class Notes: Sendable {
    private let kept = Mutex<[String]>([])
    var all: [String] { kept.withLock { $0 } }
    func add(_ note: String) { kept.withLock { $0.append(note) } }
}

/// A gate that is a closure.
struct Around: Interceptor {
    let body: @Sendable (Request, Context, Next) async throws -> Response

    init(_ body: @escaping @Sendable (Request, Context, Next) async throws -> Response) {
        self.body = body
    }

    func intercept(_ request: Request, context: Context, next: Next) async throws -> Response {
        try await body(request, context, next)
    }
}

extension Client {
    /// A client of Core alone.
    convenience init(
        _ transport: any Transport, clock: any TimeSource = ManualClock(), _ gates: any Gate...
    ) {
        self.init(
            transport: transport, stack: Stack(gates), serializers: SerializerTable(),
            timeSource: clock, randomSource: SeededRandomSource(seed: 1))
    }
}

/// The content as text.
struct Text: ContentSerializer {
    func serialize(_ content: Data, of head: ResponseHead) -> String {
        String(decoding: content, as: UTF8.self)
    }
}

let anywhere: Target = "http://a.example/x"
