// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Turnpike
import TurnpikeCore
import TurnpikeInspection
import TurnpikeTesting

/// What one call cost, as seen from outside of its gates.
struct Cost: Sendable {
    var sends = 0
    var head: Duration?
    var time = Duration.zero
    var waiting = Duration.zero
    var bytes = 0
}

/// A transport that keeps when each exchange of a call was under way.
final class MeasuringTransport: Transport {
    private struct Exchange {
        let begin: MonotonicInstant
        var end: MonotonicInstant?
    }

    let capabilities = TransportCapabilities(rawValue: .max)
    private let wrapped: any Transport
    private let exchanges = Mutex<[UInt64: [Exchange]]>([:])

    init(_ wrapped: any Transport) { self.wrapped = wrapped }

    func send(_ request: Request, context: Context) async throws -> Response {
        let (call, clock) = (context.id.number, context.timeSource)
        let index = exchanges.withLock { exchanges in
            exchanges[call, default: []].append(Exchange(begin: clock.now))
            return (exchanges[call]?.count ?? 1) - 1
        }
        let end = { @Sendable [self] in
            exchanges.withLock { $0[call]?[index].end = clock.now }
        }
        do {
            let response = try await wrapped.send(request, context: context)
            response.body.onEnd { _ in end() }
            return response
        } catch {
            end()
            throw error
        }
    }

    func shutdown() async { await wrapped.shutdown() }

    /// The exchanges of a call, and the time in which none of them was under way.
    func cost(
        of call: UInt64, from begin: MonotonicInstant, to end: MonotonicInstant
    ) -> (sends: Int, waiting: Duration) {
        let all = exchanges.withLock { $0[call] ?? [] }.sorted { $0.begin < $1.begin }
        var (waiting, last) = (Duration.zero, begin)
        for exchange in all where exchange.begin < end {
            if exchange.begin > last { waiting += last.duration(to: exchange.begin) }
            last = max(last, min(exchange.end ?? end, end))
        }
        if last < end { waiting += last.duration(to: end) }
        return (all.count, waiting)
    }
}

/// The outermost gate of measured calls, which tells the number of each and when its head came.
///
/// It is no option of a call, because calls with options of their own are not shared.
struct HeadProbe: Interceptor {
    /// What the gate found of one call.
    final class Mark: Sendable {
        private let state = Mutex<(call: UInt64, at: MonotonicInstant)?>(nil)
        var value: (call: UInt64, at: MonotonicInstant)? {
            get { state.withLock { $0 } }
            set { state.withLock { $0 = newValue } }
        }
    }

    /// The mark of the present call.
    @TaskLocal static var mark: Mark?

    func facts(for request: Request?) -> GateFacts? { GateFacts("measures") }

    func intercept(
        _ request: Request, context: Context, next: Next
    ) async throws -> Response {
        defer { Self.mark?.value = (context.id.number, context.timeSource.now) }
        return try await next(request)
    }
}

extension RandomStack {
    /// Makes calls at once, and measures them.
    func measure(
        _ transport: MeasuringTransport, clock: any TimeSource, random: any RandomSource,
        calls: Int = 1
    ) async -> [Cost] {
        let client = Client(
            transport: transport, stack: Stack([HeadProbe()] + gates),
            serializers: SerializerTable(),
            timeSource: clock, randomSource: random)
        let costs = await withTaskGroup(of: Cost.self) { group in
            for _ in 0..<calls {
                group.addTask { await Self.cost(of: client, request, transport, clock) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        await client.shutdown()
        return costs
    }

    private static func cost(
        of client: Client, _ request: Request, _ transport: MeasuringTransport,
        _ clock: any TimeSource
    ) async -> Cost {
        let mark = HeadProbe.Mark()
        let begin = clock.now
        var cost = Cost()
        do {
            cost.bytes = try await HeadProbe.$mark.withValue(mark) {
                let call = client.request(request)
                if !request.options.isStreaming {
                    return try await call.serialize(with: Text()).utf8.count
                }
                let response = try await call.response()
                response.body.cancel(.drop)
                return 0
            }
        } catch {
            cost.bytes = (error as? ClientError)?.responseBody.count ?? 0
        }
        cost.time = begin.duration(to: clock.now)
        if let (call, at) = mark.value {
            cost.head = begin.duration(to: at)
            (cost.sends, cost.waiting) = transport.cost(of: call, from: begin, to: clock.now)
        }
        return cost
    }
}
