/// A part of a stack: an ``Interceptor``, or a type with one or more of the five roles
/// (``RequestAdapter``, ``RequestRetrier``, ``ResponseValidator``, ``RequestLogger``,
/// ``MetricsRecorder``).
///
/// A type that conforms only to `Gate` is a mistake; calls that reach it fail with
/// ``ClientError/Code/configuration``.
///
/// A gate is a value that many calls use at the same time. State that lasts between calls belongs
/// in a `Mutex` or an actor that the gate holds.
public protocol Gate: Sendable {
    /// The gate's name in logs, stack descriptions and errors; by default the name of its type.
    var name: String { get }

    /// Identifies this gate among gates of the same type, so that its state survives a reload of
    /// the stack.
    ///
    /// Nil by default: name and position identify it.
    var id: String? { get }

    /// The keys of request options that this gate reads; none by default.
    var handledOptions: [any RequestOptionKey.Type] { get }

    /// Releases what the gate holds beyond single calls, for example flushes a log or closes a
    /// file.
    ///
    /// ``Client/shutdown(grace:)`` calls it after the last call.
    func shutdown() async
}

extension Gate {
    /// The name of the type.
    public var name: String { String(describing: Self.self) }
    /// Nil.
    public var id: String? { nil }
    /// None.
    public var handledOptions: [any RequestOptionKey.Type] { [] }
    /// Does nothing.
    public func shutdown() async {}
}
