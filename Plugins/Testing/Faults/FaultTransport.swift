// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// A fault of a ``FaultTransport``, and how often the fault happens.
public struct Fault: Sendable {
    enum Kind: Sendable {
        case latency(MockLatency)
        case refuse
        case lose
        case status(HTTPStatus)
        case reset(after: ClosedRange<Int>)
        case truncate(after: ClosedRange<Int>)
        case drip(bytes: Int, interval: Duration)
    }

    enum Occasion: Sendable {
        case share(Double)
        case burst(length: Duration, period: Duration)
    }

    let name: String
    let kind: Kind
    var occasion: Occasion
    var matchers: [RequestMatcher] = []

    private init(_ name: String, _ kind: Kind, _ share: Double) {
        self.name = name
        self.kind = kind
        occasion = .share(share)
    }

    /// A latency of requests.
    public static func latency(_ latency: MockLatency, share: Double = 1) -> Fault {
        Fault("latency", .latency(latency), share)
    }

    /// A refused connection, without a sent request.
    public static func refuse(share: Double) -> Fault { Fault("refuse", .refuse, share) }

    /// A connection that is lost after the request was sent and before the response.
    public static func lose(share: Double) -> Fault { Fault("lose", .lose, share) }

    /// A response with a status as from a proxy, without a request to the server.
    public static func status(_ status: HTTPStatus, share: Double) -> Fault {
        Fault("status \(status.code)", .status(status), share)
    }

    /// A reset of the connection after some bytes of the content.
    public static func reset(after bytes: ClosedRange<Int>, share: Double) -> Fault {
        Fault("reset", .reset(after: bytes), share)
    }

    /// Content that ends early after some bytes.
    public static func truncate(after bytes: ClosedRange<Int>, share: Double) -> Fault {
        Fault("truncate", .truncate(after: bytes), share)
    }

    /// Content in small pieces, with a delay before each piece.
    public static func drip(bytes: Int, every interval: Duration, share: Double) -> Fault {
        Fault("drip", .drip(bytes: max(bytes, 1), interval: interval), share)
    }

    /// Returns the same fault for all requests during bursts, instead of for a share of all
    /// requests.
    /// - Parameters:
    ///   - length: The duration of a burst.
    ///   - period: The duration of a period with one burst. The seed decides the start of the
    ///     burst.
    /// - Returns: The fault.
    public func inBursts(of length: Duration, every period: Duration) -> Fault {
        var copy = self
        copy.occasion = .burst(length: length, period: max(period, length))
        return copy
    }

    /// Returns the same fault, applied only to requests that satisfy all conditions.
    public func only(where matchers: RequestMatcher...) -> Fault {
        var copy = self
        copy.matchers += matchers
        return copy
    }
}

/// Wraps a transport and adds faults according to a seed.
///
/// ```swift
/// let transport = FaultTransport(
///     MockTransport(stubs), seed: 7,
///     [
///         .latency(.logNormal(median: .milliseconds(20), p99: .milliseconds(400))),
///         .refuse(share: 0.02), .reset(after: 0...4096, share: 0.01),
///         .status(503, share: 1).inBursts(of: .seconds(5), every: .seconds(60)),
///     ])
/// ```
///
/// The fault of a request depends only on the seed, the number of the call in the client and the
/// number of the send in the call. Equal seeds therefore produce equal runs. Faults are evaluated
/// in order. The first fault that responds or throws ends the request. Delays use the client's
/// clock.
public final class FaultTransport: Transport {
    /// A fault that happened.
    public struct Event: Sendable, Hashable, CustomStringConvertible {
        /// The number of the call in the client, starting at 1.
        public let call: UInt64
        /// The number of the send in the call, starting at 1.
        public let send: Int
        /// The name of the fault.
        public let fault: String

        /// The call, the send and the fault in one line.
        public var description: String { "call \(call) send \(send): \(fault)" }
    }

    /// The capabilities of the wrapped transport.
    public var capabilities: TransportCapabilities { wrapped.capabilities }

    /// The `provesClient` of the wrapped transport.
    public var provesClient: Bool { wrapped.provesClient }

    /// The `canEndProcess` of the wrapped transport.
    public var canEndProcess: Bool { wrapped.canEndProcess }

    private let wrapped: any Transport
    private let seed: UInt64
    private let faults: [Fault]
    private let happened = Mutex<[Event]>([])

    private static let keptEvents = 100_000

    /// Creates a transport.
    /// - Parameters:
    ///   - transport: The transport that sends requests.
    ///   - seed: Decides which faults happen.
    ///   - faults: The possible faults.
    public init(_ transport: any Transport, seed: UInt64, _ faults: [Fault]) {
        wrapped = transport
        self.seed = seed
        self.faults = faults
    }

    /// The first 100,000 faults that happened, sorted by call and send.
    public var events: [Event] {
        happened.withLock { $0 }.sorted { ($0.call, $0.send) < ($1.call, $1.send) }
    }

    /// Sends a request through the wrapped transport, with the faults.
    public func send(_ request: Request, context: Context) async throws -> Response {
        let (call, send) = (context.id.number, context.sendCount)
        var generator = SeededGenerator(
            seed: seed ^ (call &* 0x9E37_79B9_7F4A_7C15) ^ (UInt64(send) &* 0xD134_2543_DE82_EF95))
        var wrap: [@Sendable (ResponseBody) -> ResponseBody] = []
        var losesAnswer = false
        for (index, fault) in faults.enumerated() {
            let draw = generator.unit()
            let size = generator.unit()
            guard fault.matchers.allSatisfy({ $0.mismatch(request) == nil }),
                happens(fault, index, draw, at: context.timeSource.now)
            else { continue }
            note(Event(call: call, send: send, fault: fault.name))
            switch fault.kind {
            case .latency(let latency): try await context.sleep(for: latency.at(share: size))
            case .refuse:
                throw ClientError(
                    .connection, "the plan refuses the connection", transfer: .init(.connecting))
            case .status(let status): return Response(to: request, status: status)
            case .lose: losesAnswer = true
            case .reset(let range):
                let limit = Self.pick(range, size)
                wrap.append { body in
                    body.broken(after: limit, .connection, "the plan resets the connection")
                }
            case .truncate(let range):
                let limit = Self.pick(range, size)
                wrap.append { $0.broken(after: limit, .incomplete, "the plan ends the content") }
            case .drip(let bytes, let interval):
                wrap.append { body in
                    ResponseBody(
                        Drip(body: body, bytes: bytes, interval: interval, context: context),
                        length: body.length, trailersOf: body)
                }
            }
        }
        var response = try await wrapped.send(request, context: context)
        if losesAnswer {
            response.body.cancel(.drop)
            throw ClientError(
                .connection, "the plan loses the connection",
                transfer: .init(.sending, bodyBytesSent: request.body.length ?? 1))
        }
        for wrap in wrap { response.body = wrap(response.body) }
        return response
    }

    /// Shuts down the wrapped transport.
    public func shutdown() async { await wrapped.shutdown() }

    private func happens(
        _ fault: Fault, _ index: Int, _ draw: Double, at now: MonotonicInstant
    ) -> Bool {
        switch fault.occasion {
        case .share(let share): return draw < share
        case .burst(let length, let period):
            let (length, period) = (length.wholeNanoseconds, max(period.wholeNanoseconds, 1))
            let turn = now.nanoseconds / period
            var generator = SeededGenerator(
                seed: seed ^ UInt64(bitPattern: turn) &* 0xA24B_AED4_963E_E407 ^ UInt64(index))
            let begin = Int64(Double(period - length) * generator.unit())
            let moment = now.nanoseconds % period
            return moment >= begin && moment < begin + length
        }
    }

    private func note(_ event: Event) {
        happened.withLock { if $0.count < Self.keptEvents { $0.append(event) } }
    }

    private static func pick(_ range: ClosedRange<Int>, _ share: Double) -> Int {
        // The width of a range may exceed `Int.max`.
        let width = Double(range.upperBound) - Double(range.lowerBound) + 1
        let picked = Double(range.lowerBound) + (width * share).rounded(.down)
        return Int(exactly: picked).map { min($0, range.upperBound) } ?? range.upperBound
    }
}

extension ResponseBody {
    // Returns a body that fails after a number of bytes, if there are more bytes.
    fileprivate func broken(
        after limit: Int, _ code: ClientError.Code, _ message: String
    ) -> ResponseBody {
        let passed = Passed()
        let error = ClientError(code, message, transfer: .init(.receiving))
        return transforming { chunk in
            let before = passed.add(chunk.count)
            if before >= limit { throw error }
            return chunk.prefix(limit - before)
        } finish: {
            if passed.add(0) > limit { throw error }
            return nil
        }
    }
}

private final class Passed: Sendable {
    private let count = Mutex(0)

    func add(_ bytes: Int) -> Int {
        count.withLock { count in
            defer { count += bytes }
            return count
        }
    }
}

private struct Drip: AsyncSequence, Sendable {
    let body: ResponseBody
    let bytes: Int
    let interval: Duration
    let context: Context

    struct Iterator: AsyncIteratorProtocol {
        var source: ResponseBody.AsyncIterator
        let bytes: Int
        let interval: Duration
        let context: Context
        var rest = Data()

        mutating func next() async throws -> Data? {
            if rest.isEmpty {
                guard let chunk = try await source.next() else { return nil }
                rest = chunk
            }
            try await context.sleep(for: interval)
            let piece = Data(rest.prefix(bytes))
            rest = Data(rest.dropFirst(bytes))
            return piece
        }
    }

    func makeAsyncIterator() -> Iterator {
        Iterator(
            source: body.makeAsyncIterator(), bytes: bytes, interval: interval, context: context)
    }
}
