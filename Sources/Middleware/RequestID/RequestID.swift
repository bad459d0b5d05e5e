// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

/// Adds an ID to each call; the ID can also appear in the server's log.
///
/// The ID is a random UUID. All attempts and hops of the call have the same ID, at any place of the
/// gate. An ID that the caller has set stays. Other gates find the ID under ``Value``.
public struct RequestID: SynchronousRequestAdapter {
    /// The context key of the call's ID; nil before the request has passed the gate.
    public enum Value: ContextKey {
        /// None.
        public static let defaultValue: String? = nil
    }

    private let header: HTTPHeaders.Name

    /// Creates a gate that adds IDs.
    /// - Parameter header: The header field that carries the ID.
    public init(header: HTTPHeaders.Name = "X-Request-ID") { self.header = header }

    /// States the field that the gate sets.
    public func facts(for request: Request?) -> GateFacts? {
        GateFacts(
            "gives the call an ID", .setsFields([header], .plain),
            passedOver: request?.headers.contains(header) == true ? "the request has an ID" : nil)
    }

    /// Sets the ID if the request has none.
    public func adapt(_ request: inout Request, context: Context) {
        if let present = request.headers[header] {
            _ = context.value(of: Value.self) { present }
        } else {
            request.headers[header] = context.value(of: Value.self) { context.random.uuid() }
        }
    }
}

extension Gate where Self == RequestID {
    /// Adds an ID to each call; see ``RequestID/init(header:)``.
    public static func requestID(header: HTTPHeaders.Name = "X-Request-ID") -> Self {
        RequestID(header: header)
    }
}
