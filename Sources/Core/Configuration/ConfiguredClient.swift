import Synchronization

/// A client that a stack file describes, and that takes a new one without a restart.
///
/// ```swift
/// let configured = try ConfiguredClient(StackFile(contentsOf: url), registry: .standard, serializers: .standard)
/// let user = try await configured.client.get("users/1").decode(User.self)
/// try configured.reload(StackFile(contentsOf: url))  // a bad file throws, and changes nothing
/// ```
///
/// A reload builds the new stack whole and puts it in force at once: calls that are under way keep
/// theirs. What gates remember (breakers, budgets, jars, caches) survives where the gate's `id`, or
/// its name and position, is the same; each gate decides by which settings it is still the same
/// state (``Settings/kept(_:for:updating:_:)``), and new rules then hold for calls under way too.
public final class ConfiguredClient: Sendable {
    private struct State {
        var file: StackFile
        var kept: KeptState
    }

    /// The client.
    public let client: Client
    private let registry: Registry
    private let state: Mutex<State>

    /// Creates a client.
    /// - Parameters:
    ///   - file: What describes it.
    ///   - registry: The names that the file may use.
    ///   - serializers: The serializers of its terminals.
    ///   - timeSource: Where all time in calls comes from.
    ///   - randomSource: Where all chance in calls comes from.
    /// - Throws: ``ClientError/Code/configuration`` with every mistake of the file, or
    ///   ``ClientError/Code/unsupported``.
    public init(
        _ file: StackFile, registry: Registry, serializers: SerializerTable,
        timeSource: any TimeSource = SystemTimeSource(),
        randomSource: any RandomSource = SystemRandomSource()
    ) throws {
        let kept = KeptState()
        let parts = try file.build(with: registry, state: kept)
        client = Client(
            baseURL: parts.baseURL, transport: parts.transport, stack: parts.stack,
            serializers: serializers, timeSource: timeSource, randomSource: randomSource)
        kept.settle()
        self.registry = registry
        state = Mutex(State(file: file, kept: kept))
    }

    /// The file in force.
    public var file: StackFile { state.withLock { $0.file } }

    /// Puts another file in force.
    ///
    /// The transport stays where its part of the file is unchanged. The base URL cannot change:
    /// requests that were described against it keep it.
    /// - Throws: ``ClientError/Code/configuration`` with every mistake; the last good file stays in
    ///   force.
    public func reload(_ file: StackFile) throws {
        try state.withLock { state in
            guard file.root["baseURL"] == state.file.root["baseURL"] else {
                throw ClientError.configuration([
                    ConfigurationIssue(
                        path: "baseURL", message: "a reload cannot change it; make a new client")
                ])
            }
            let kept = KeptState(following: state.kept)
            let isSameTransport = file.root["transport"] == state.file.root["transport"]
            let parts = try file.build(
                with: registry, state: kept, keeping: isSameTransport ? client.transport : nil)
            client.replace(stack: parts.stack, transport: parts.transport)
            kept.settle()
            state = State(file: file, kept: kept)
        }
    }
}
