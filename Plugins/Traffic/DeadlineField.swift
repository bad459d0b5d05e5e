// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// A header field that tells a server how much longer the caller waits.
///
/// ```swift
/// let left = DeadlineField.grpc.timeLeft(in: HTTPHeaders(incoming.headers))
/// let end = left.map { client.timeSource.now.advanced(by: $0) }
/// let answer = try await client.get("weather/vienna").deadline(until: end).data()
/// ```
public struct DeadlineField: Sendable, Hashable {
    /// The name of the field.
    public let name: HTTPHeaders.Name
    // Nil for gRPC, because each value contains its unit.
    private let unit: Duration?

    /// gRPC's `grpc-timeout`, which has up to eight digits and a unit, such as `250m`.
    public static let grpc = grpc("grpc-timeout")

    /// Returns a field with a value in the form of gRPC.
    public static func grpc(_ name: HTTPHeaders.Name) -> Self { Self(name: name, unit: nil) }

    /// Returns a field with a whole number of milliseconds, such as Envoy's
    /// `X-Envoy-Expected-Rq-Timeout-Ms`.
    public static func milliseconds(_ name: HTTPHeaders.Name) -> Self {
        Self(name: name, unit: .milliseconds(1))
    }

    /// Returns a field with a whole number of seconds.
    public static func seconds(_ name: HTTPHeaders.Name) -> Self {
        Self(name: name, unit: .seconds(1))
    }

    // The units of gRPC with their letters, the finest unit first.
    private static let units: [(letter: Character, unit: Duration)] = [
        ("n", .nanoseconds(1)), ("u", .microseconds(1)), ("m", .milliseconds(1)),
        ("S", .seconds(1)), ("M", .seconds(60)), ("H", .seconds(3600)),
    ]

    /// The time left according to the field, or nil.
    ///
    /// The result is nil if the field is missing, or if its value does not have the exact form: one
    /// to eight digits, and for gRPC a unit. Without a value, only the client's own limits apply.
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

    /// Returns the value for a time left, rounded down, but never zero.
    func value(of left: Duration) -> String {
        func count(_ unit: Duration) -> Int64 { left.wholeNanoseconds / unit.wholeNanoseconds }
        if let unit { return String(min(max(count(unit), 1), 99_999_999)) }
        let fit = Self.units.first { count($0.unit) < 100_000_000 } ?? ("H", .seconds(3600))
        return "\(max(count(fit.unit), 1))\(fit.letter)"
    }
}

/// Tells the next server how much time is left until the ``/TurnpikeMiddleware/Deadline``.
///
/// Place this gate inside a ``/TurnpikeMiddleware/Retry``, so that each attempt has its own value.
/// The gate does nothing if the call is streaming or has no deadline.
public struct PropagateDeadline: SynchronousRequestAdapter {
    private let field: DeadlineField

    /// Creates a gate that sets a field.
    public init(in field: DeadlineField = .grpc) { self.field = field }

    /// States the field, and that the gate must be inside gates that take time or share responses.
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
    /// Tells the next server how much time is left; see ``PropagateDeadline/init(in:)``.
    public static func propagateDeadline(in field: DeadlineField = .grpc) -> Self {
        PropagateDeadline(in: field)
    }
}
