// SPDX-License-Identifier: Apache-2.0

/// A part of a stack: an ``Interceptor``, or a type with one or more of the five roles.
///
/// The roles are ``RequestAdapter``, ``RequestRetrier``, ``ResponseValidator``, ``RequestLogger``
/// and ``MetricsRecorder``. If a type conforms only to `Gate`, each call that reaches the gate
/// fails with ``ClientError/Code/configuration``.
///
/// A gate is a value that many calls use at the same time. State that lasts between calls must be
/// in a `Mutex` or an actor of the gate.
public protocol Gate: Sendable {
    /// The gate's name in logs, traces, stack descriptions and errors; by default the type's name.
    ///
    /// The name must not contain a secret. A property called `name` is not the gate's name.
    var gateName: String { get }

    /// The keys of the request options that this gate handles; none by default.
    var handledOptions: [any RequestOptionKey.Type] { get }

    /// The capabilities of the transport that the gate needs; none by default.
    ///
    /// If the transport does not have a capability, the client has a fault from the start
    /// (``Client/fault``), and each call fails with ``ClientError/Code/unsupported``.
    var requiredCapabilities: TransportCapabilities { get }

    /// States facts about this gate, for checks and explanations of a stack; nil by default.
    ///
    /// No call runs this method. The method must not send, wait or change any state.
    /// - Parameter request: The request at the gate; with nil, the facts must hold for any request.
    /// - Returns: The facts, or nil if nothing is known.
    func facts(for request: Request?) -> GateFacts?

    /// Returns lines about the present state of the gate, in any order; none by default.
    ///
    /// No call runs this method. The method must not send, wait or change any state.
    /// - Parameter now: The current time on the clock of the client.
    /// - Returns: The lines.
    func liveFigures(at now: MonotonicInstant) -> [LiveFigure]

    /// Releases resources that outlive a call, for example flushes a log or closes a file.
    ///
    /// ``Client/shutdown(grace:cancellingWith:)`` calls this method after the last call.
    func shutdown() async
}

extension Gate {
    /// The name of the type, by default.
    public var gateName: String { String(describing: Self.self) }
    /// An empty list, by default.
    public var handledOptions: [any RequestOptionKey.Type] { [] }
    /// An empty set, by default.
    public var requiredCapabilities: TransportCapabilities { [] }
    /// Nil, by default.
    public func facts(for request: Request?) -> GateFacts? { nil }
    /// An empty list, by default.
    public func liveFigures(at now: MonotonicInstant) -> [LiveFigure] { [] }
    /// Does nothing by default.
    public func shutdown() async {}
}
