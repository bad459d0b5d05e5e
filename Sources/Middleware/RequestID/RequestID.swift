// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

/// Adds an ID to each call, which identifies the call in the logs of client and server.
///
/// The ID is a random UUID. All attempts and hops of the call have the same ID, even if the gate is
/// inside the retry gate. The gate does not replace an ID that the caller has set. Other gates get
/// the ID with the context key ``Value``.
public struct RequestID: SynchronousRequestAdapter {
    /// The context key for the ID of the call, or nil before the request passes the gate.
    public enum Value: ContextKey {
        /// No ID.
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

    /// Sets the ID if the request has no ID.
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

extension CallRandom {
    /// Returns a version 4 UUID (RFC 9562 §5.4) in lower case, from the random source of the call.
    func uuid() -> String {
        let high = next() & ~0xF000 | 0x4000
        let low = next() & ~(0b11 << 62) | (0b10 << 62)
        var digits = Array((high.hexadecimal + low.hexadecimal).utf8)
        for position in [20, 16, 12, 8] { digits.insert(UInt8(ascii: "-"), at: position) }
        return String(decoding: digits, as: UTF8.self)
    }
}
