// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Reads everything that happens in a call, as it happens, for example to make a trace.
///
/// ```swift
/// final class Waits: CallReader {
///     let names = Mutex<[String]>([])
///     func read(_ step: CallStep, in context: Context) {
///         if case .entered(.wait(let name), _) = step { names.withLock { $0.append(name) } }
///     }
/// }
/// ```
///
/// A reader in ``Call/readers`` reads one call. A client has a reader for all its calls. A
/// ``RequestLogger`` receives the same events for its part of the chain, without secrets.
///
/// A reader gets requests, responses and errors unchanged, so it must redact what it shows or
/// stores. A reader must not block. Events of simultaneous parts arrive in several tasks.
public protocol CallReader: Sendable {
    /// Reads an event.
    /// - Parameters:
    ///   - step: The event.
    ///   - context: The context of the event (``Context/part``).
    func read(_ step: CallStep, in context: Context)

    /// Returns the reader for a call that begins; by default this reader.
    /// - Parameter others: The readers that already read the call.
    /// - Returns: The reader, or nil if one of `others` also reads the call for this reader.
    func reader(beside others: [any CallReader]) -> (any CallReader)?
}

extension CallReader {
    /// Returns this reader.
    public func reader(beside others: [any CallReader]) -> (any CallReader)? { self }
}

/// An event in a call.
public enum CallStep: Sendable {
    /// The part of the call that the context belongs to begins (``Context/part``). The first part
    /// of a call is ``CallPart/call(_:)``.
    /// - Parameter in: The number of the enclosing part; -1 for the call itself.
    case entered(CallPart, in: Int)
    /// The part of the call that the context belongs to has ended.
    ///
    /// The result is the error, or the status of the response that the part returned. A failed or
    /// upgraded exchange ends with this event; any other exchange ends with its body. The call ends
    /// when the caller gets the response or value.
    case left(Result<HTTPStatus?, any Error>)
    /// A gate reports an action. If `describesPass` is true, the message describes all that the
    /// gate did with the request.
    case note(gate: String, message: String, describesPass: Bool)
    /// A gate added one to a counter.
    case counted(GateFigure)
    /// The request is passed to the transport.
    case sent(Request)
    /// The transport reports facts about an exchange.
    case reported([TransportReport])
    /// The transport has returned a response to a request.
    case received(Response, to: Request)
    /// Another attempt, number `attempt` of the call, follows after a wait.
    case retrying(after: Duration, attempt: Int, Outcome)
    /// A redirect is followed, with this request.
    case redirecting(Request, because: ResponseHead)
    /// The gates have returned the call's response; the value of the call is not made yet.
    case responded(Response)
}

/// A part of a call that takes time.
public enum CallPart: Sendable {
    /// The call, with the request as its caller described it.
    case call(Request)
    /// The handling of a request by a gate, including everything inside the gate.
    case gate(GatePass)
    /// An attempt, with its number in the call.
    case attempt(Int)
    /// A wait of a gate, with a name for people
    /// (``Context/report(waitingFor:atDeadline:saying:by:gauges:_:)``).
    case wait(String)
    /// The exchange of a request.
    case exchange(Request)
}

/// The handling of one request by a gate.
public struct GatePass: Sendable {
    let plan: Plan
    let position: Int

    /// The gate's name, read from the gate only when this property is read.
    public var gateName: String { plan.gateName(at: position) }
}

/// The part of a call that a context belongs to.
struct CallPlace {
    enum Kind: UInt8 {
        /// The call, a gate or an attempt.
        case chain
        case wait
        case exchange
    }

    let part: Int32
    let kind: Kind

    static let call = CallPlace(part: 0, kind: .chain)
}

/// The readers of a call and of its side calls.
final class CallStream: Sendable {
    private let first: any CallReader
    // An empty list takes no memory, and the list is nearly always empty.
    private let others: [any CallReader]
    private let lastPart = Atomic<Int32>(0)

    /// Returns nil if the call has no reader.
    init?(_ client: (any CallReader)?, _ call: [any CallReader]) {
        var first = client.flatMap { $0.reader(beside: []) }
        var others: [any CallReader] = []
        for source in call {
            guard let reader = source.reader(beside: first.map { [$0] + others } ?? []) else {
                continue
            }
            if first == nil { first = reader } else { others.append(reader) }
        }
        guard let first else { return nil }
        self.first = first
        self.others = others
    }

    func tell(_ step: CallStep, in context: Context) {
        first.read(step, in: context)
        for reader in others { reader.read(step, in: context) }
    }

    func place(of part: CallPart) -> CallPlace {
        let kind: CallPlace.Kind =
            switch part {
            case .call, .gate, .attempt: .chain
            case .wait: .wait
            case .exchange: .exchange
            }
        let number = lastPart.wrappingAdd(1, ordering: .relaxed).newValue
        return CallPlace(part: number, kind: kind)
    }
}
