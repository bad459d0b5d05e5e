import Foundation
import Synchronization
import TurnpikeTesting

@testable import TurnpikeCore

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

/// Runs actions side by side, each over all of the things in turn.
///
/// What they have in common is touched from several threads, in an order that no one decides.
func atOnce<Thing: Sendable>(
    _ things: [Thing], _ actions: (@Sendable (Thing) async -> Void)...
) async {
    await withTaskGroup { group in
        for action in actions {
            group.addTask { for thing in things { await action(thing) } }
        }
    }
}

/// A number that many count up.
final class Tally: Sendable {
    private let number = Atomic(0)
    var count: Int { number.load(ordering: .acquiring) }
    func add() { number.add(1, ordering: .acquiringAndReleasing) }
}
