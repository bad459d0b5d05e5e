import Foundation
import Synchronization
import TurnpikeTesting

@testable import TurnpikeCore
@testable import TurnpikeMiddleware

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
    /// A client without serializers.
    convenience init(
        _ transport: any Transport, clock: any TimeSource = ManualClock(), seed: UInt64 = 1,
        _ stack: Stack
    ) {
        self.init(
            transport: transport, stack: stack, serializers: SerializerTable(), timeSource: clock,
            randomSource: SeededRandomSource(seed: seed))
    }
}

/// The content as text.
struct Text: ContentSerializer {
    func serialize(_ content: Data, of head: ResponseHead) -> String {
        String(decoding: content, as: UTF8.self)
    }
}

let anywhere: Target = "http://a.example/x"

/// The code of the error that a call ends with.
func code(of call: Call) async -> ClientError.Code? {
    do {
        _ = try await call.serialize(with: Text())
        return nil
    } catch {
        return (error as? ClientError)?.code
    }
}

/// Counts down.
final class Counter: Sendable {
    private let left: Mutex<Int>
    init(_ count: Int) { left = Mutex(count) }
    func takeOne() -> Bool {
        left.withLock { left in
            left -= 1
            return left >= 0
        }
    }
}

/// All that comes out of a pipe, read on a thread of its own: a few reads that wait in the pool
/// would stop every test.
func readToEnd(_ pipe: Pipe) async -> Data {
    await withCheckedContinuation { continuation in
        Thread { continuation.resume(returning: pipe.fileHandleForReading.readDataToEndOfFile()) }
            .start()
    }
}
