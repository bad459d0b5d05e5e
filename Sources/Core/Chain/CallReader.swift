// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Reads all events of a call when they happen, for example to make a trace.
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
/// The readers in ``Call/readers`` read one call. The reader of a client reads all calls of the
/// client. A ``RequestLogger`` receives the same events of its inner gates, without secrets.
///
/// A reader gets requests, responses and errors unchanged, and must redact all text that the reader
/// shows or stores. A reader must not block. Events of simultaneous parts of a call arrive in
/// several tasks.
public protocol CallReader: Sendable {
    /// Reads an event.
    /// - Parameters:
    ///   - step: The event.
    ///   - context: The context of the event (``Context/part``).
    func read(_ step: CallStep, in context: Context)

    /// Returns the reader for a new call; by default this reader.
    /// - Parameter others: The other readers of the call.
    /// - Returns: The reader, or nil if one of `others` also reads the call for this reader.
    func reader(beside others: [any CallReader]) -> (any CallReader)?
}

extension CallReader {
    /// Returns this reader.
    public func reader(beside others: [any CallReader]) -> (any CallReader)? { self }
}

/// An event of a call, for readers.
public enum CallStep: Sendable {
    /// A part of the call begins, and the context belongs to this part (``Context/part``). The
    /// first part of a call is ``CallPart/call(_:)``.
    /// - Parameter in: The number of the enclosing part; -1 for the call.
    case entered(CallPart, in: Int)
    /// A part of the call has ended, and the context belongs to this part.
    ///
    /// The result is the error, or the status of the response that the part returned. A failed or
    /// upgraded exchange ends with this event, and any other exchange ends with the body. The call
    /// ends when the caller gets the response or the value.
    case left(Result<HTTPStatus?, any Error>)
    /// A gate reports an action. If `describesPass` is true, the message describes everything that
    /// the gate did with the request.
    case note(gate: String, message: String, describesPass: Bool)
    /// A gate added one to a counter.
    case counted(GateFigure)
    /// The request is passed to the transport.
    case sent(Request)
    /// The transport reports facts about an exchange.
    case reported([TransportReport])
    /// The transport has returned a response to a request.
    case received(Response, to: Request)
    /// A gate will make another attempt after a wait; `attempt` is the number of the new attempt.
    case retrying(after: Duration, attempt: Int, Outcome)
    /// A gate follows a redirect with this request.
    case redirecting(Request, because: ResponseHead)
    /// The gates have returned the response of the call, and the serializer starts.
    case responded(Response)
}

/// A part of a call that takes time.
public enum CallPart: Sendable {
    /// The whole call, with the request that the caller described.
    case call(Request)
    /// The work of a gate for a request, including the work of all inner gates.
    case gate(GatePass)
    /// An attempt, with its number in the call.
    case attempt(Int)
    /// A wait of a gate, with a name for people
    /// (``Context/report(waitingFor:atDeadline:saying:by:gauges:_:)``).
    case wait(String)
    /// The exchange of a request.
    case exchange(Request)
}

/// The work of one gate for one request.
public struct GatePass: Sendable {
    let plan: Plan
    let position: Int

    /// The name of the gate, which the gate returns when this property is read.
    public var gateName: String { plan.gateName(at: position) }
}

/// The part of a call to which a context belongs.
struct CallPlace {
    enum Kind: UInt8 {
        case chain
        case wait
        case exchange
    }

    let part: Int32
    let kind: Kind

    static let call = CallPlace(part: 0, kind: .chain)
}

final class CallStream: Sendable {
    private let first: any CallReader
    // Few calls have their own readers, and an empty list takes no memory.
    private let others: [any CallReader]
    private let lastPart = Atomic<Int32>(0)

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
