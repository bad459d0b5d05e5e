// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// A header field with the time for which the caller still waits for the response.
///
/// ```swift
/// let left = DeadlineField.grpc.timeLeft(in: HTTPHeaders(incoming.headers))
/// let end = left.map { client.timeSource.now.advanced(by: $0) }
/// let answer = try await client.get("weather/vienna").deadline(until: end).data()
/// ```
public struct DeadlineField: Sendable, Hashable {
    /// The name of the field.
    public let name: HTTPHeaders.Name
    // The value is nil for gRPC, because a gRPC value contains the unit.
    private let unit: Duration?

    /// The field `grpc-timeout` of gRPC, with up to eight digits and a unit, such as `250m`.
    public static let grpc = grpc("grpc-timeout")

    /// Returns a field whose value has the form of gRPC.
    public static func grpc(_ name: HTTPHeaders.Name) -> Self { Self(name: name, unit: nil) }

    /// Returns a field with whole milliseconds, such as Envoy's `X-Envoy-Expected-Rq-Timeout-Ms`.
    public static func milliseconds(_ name: HTTPHeaders.Name) -> Self {
        Self(name: name, unit: .milliseconds(1))
    }

    /// Returns a field with whole seconds.
    public static func seconds(_ name: HTTPHeaders.Name) -> Self {
        Self(name: name, unit: .seconds(1))
    }

    // The units of gRPC, from the smallest to the largest.
    private static let units: [(letter: Character, unit: Duration)] = [
        ("n", .nanoseconds(1)), ("u", .microseconds(1)), ("m", .milliseconds(1)),
        ("S", .seconds(1)), ("M", .seconds(60)), ("H", .seconds(3600)),
    ]

    /// Returns the remaining time in the field, or nil.
    ///
    /// A valid value has one to eight digits, and for gRPC a unit. If the field is missing or
    /// invalid, the result is nil, and only the client's own limits apply.
    public func timeLeft(in headers: HTTPHeaders) -> Duration? {
        guard var text = headers[name].map({ $0[...] }) else { return nil }
        var found = unit
        if unit == nil, let letter = text.popLast() {
            found = Self.units.first { $0.letter == letter }?.unit
        }
        guard let found, (1...8).contains(text.utf8.count), text.utf8.allSatisfy(Grammar.isDigit),
            let count = Int(text)
        else { return nil }
        return found * count
    }

    /// Returns the field value for a remaining time, rounded down, but never zero.
    func value(of left: Duration) -> String {
        func count(_ unit: Duration) -> Int64 { left.wholeNanoseconds / unit.wholeNanoseconds }
        if let unit { return String(min(max(count(unit), 1), 99_999_999)) }
        let fit = Self.units.first { count($0.unit) < 100_000_000 } ?? ("H", .seconds(3600))
        return "\(max(count(fit.unit), 1))\(fit.letter)"
    }
}

/// Sends the remaining time until the ``/TurnpikeMiddleware/Deadline`` to the server.
///
/// Inside a ``/TurnpikeMiddleware/Retry``, the gate sets a new value for each attempt. If the call
/// is streaming or has no deadline, the gate does nothing.
public struct PropagateDeadline: SynchronousRequestAdapter {
    private let field: DeadlineField

    /// Creates a gate that sets a field.
    public init(in field: DeadlineField = .grpc) { self.field = field }

    /// Reports the field, and that gates that take time or share responses must be outside.
    public func facts(for request: Request?) -> GateFacts? {
        GateFacts(
            "tells how much time is left", .setsFields([field.name], .plain),
            order: [.retry, .hedge, .redirect, .cache, .coalesce].map {
                GateOrder(
                    .inside, $0, because: "The field would tell the server more time than is left.")
            })
    }

    /// Sets the field for this attempt.
    public func adapt(_ request: inout Request, context: Context) {
        if let left = context.timeLeft { request.headers[field.name] = field.value(of: left) }
    }
}

extension Gate where Self == PropagateDeadline {
    /// Sends the remaining time to the server; see ``PropagateDeadline/init(in:)``.
    public static func propagateDeadline(in field: DeadlineField = .grpc) -> Self {
        PropagateDeadline(in: field)
    }
}
