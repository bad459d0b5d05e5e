// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// A position in a distributed trace (W3C Trace Context): the trace, the span, and the state of
/// vendors.
///
/// The handler of a server sets ``current`` to the position in the received request. Every client
/// that the handler uses continues the trace:
///
/// ```swift
/// let incoming = TraceParent(parsing: request.headers["traceparent"] ?? "")
/// try await TraceParent.$current.withValue(incoming) { try await handle(request) }
/// ```
public struct TraceParent: Sendable, Hashable {
    /// The position of the current task, or nil.
    @TaskLocal public static var current: TraceParent?

    /// The trace: 32 hexadecimal digits in lower case, not all zero.
    public let traceID: String
    /// The span: 16 hexadecimal digits in lower case, not all zero.
    public let spanID: String
    /// Whether the trace is sampled.
    public let isSampled: Bool
    /// Whether the last seven bytes of the trace ID are random (level 2).
    let isRandom: Bool
    /// The value of `tracestate`, in which vendors keep their state, or nil.
    public let state: String?

    /// Reads the header fields `traceparent` and `tracestate`.
    ///
    /// If the version is above 00, only the fields of version 00 are read. An invalid `tracestate`
    /// is dropped. If `traceparent` is not valid, the result is nil, and the caller begins a new
    /// trace.
    /// - Parameters:
    ///   - traceparent: The value of the single field line.
    ///   - tracestate: The values of the field lines, joined with commas.
    public init?(parsing traceparent: String, tracestate: String? = nil) {
        let bytes = Array(Grammar.trimmed(traceparent).utf8)
        guard bytes.count >= 55, [2, 35, 52].allSatisfy({ bytes[$0] == UInt8(ascii: "-") }),
            let version = Self.digits(bytes[0..<2]), version != "ff",
            bytes.count == 55 || (version != "00" && bytes[55] == UInt8(ascii: "-")),
            let traceID = Self.digits(bytes[3..<35]), let spanID = Self.digits(bytes[36..<52]),
            let flags = Self.digits(bytes[53..<55]).flatMap({ UInt8($0, radix: 16) }),
            traceID.contains(where: { $0 != "0" }), spanID.contains(where: { $0 != "0" })
        else { return nil }
        self.traceID = traceID
        self.spanID = spanID
        isSampled = flags & 1 != 0
        isRandom = flags & 2 != 0
        state = tracestate.flatMap(TraceState.checked)
    }

    init(
        traceID: String, spanID: String, isSampled: Bool, isRandom: Bool, state: String? = nil
    ) {
        self.traceID = traceID
        self.spanID = spanID
        self.isSampled = isSampled
        self.isRandom = isRandom
        self.state = state
    }

    func child(_ random: CallRandom) -> TraceParent {
        TraceParent(
            traceID: traceID, spanID: Self.identifier(random), isSampled: isSampled,
            isRandom: isRandom, state: state)
    }

    static func root(_ random: CallRandom, isSampled: Bool) -> TraceParent {
        TraceParent(
            traceID: random.next().hexadecimal + identifier(random), spanID: identifier(random),
            isSampled: isSampled, isRandom: true)
    }

    // An identifier of all zeros is not valid.
    private static func identifier(_ random: CallRandom) -> String {
        while true {
            let bits = random.next()
            if bits != 0 { return bits.hexadecimal }
        }
    }

    private static func digits(_ bytes: ArraySlice<UInt8>) -> String? {
        let isLowerHex = bytes.allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
        }
        return isLowerHex ? String(decoding: bytes, as: UTF8.self) : nil
    }
}

extension TraceParent: CustomStringConvertible {
    /// The value of `traceparent` in version 00.
    public var description: String {
        "00-\(traceID)-\(spanID)-0\((isSampled ? 1 : 0) | (isRandom ? 2 : 0))"
    }
}
