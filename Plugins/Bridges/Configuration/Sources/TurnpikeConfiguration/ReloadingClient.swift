// SPDX-License-Identifier: Apache-2.0

public import Configuration
import Synchronization
public import Turnpike
public import TurnpikeStackFiles

/// A client whose stack is updated from a configuration.
///
/// ```swift
/// let upstream = try ReloadingClient(config.scoped(to: "upstream")) { result in
///     if case .failure(let error) = result { logger.error("upstream: \(error)") }
/// }
/// let user = try await upstream.client.get("users/1").decode(User.self)
/// try await upstream.run()  // in a task or a service of its own
/// ```
///
/// The whole configuration is checked before the stack changes. A valid stack replaces the old
/// stack at once. Running calls keep the old stack. After a mistake, the old stack stays. Circuits,
/// budgets, limits, cookies and tokens always stay (``/TurnpikeStackFiles/ConfiguredClient``). If
/// the configuration lists gates, the state of a gate belongs to the gate's scope. In a stack file,
/// the state belongs to the `id`, or to the name and position. The base URL cannot change.
public final class ReloadingClient: Sendable {
    private let config: ConfigReader
    private let registry: Registry
    private let configured: ConfiguredClient
    private let onReload: @Sendable (Result<StackFile, any Error>) -> Void
    // The last error for `onReload`, or nil if the configuration is in use. The lock is held while
    // a configuration is read and applied, because the newest one must win.
    private let refusal = Mutex<String?>(nil)

    /// Creates a client from the current configuration.
    /// - Parameters:
    ///   - config: The configuration, scoped to the client.
    ///     ``TurnpikeStackFiles/StackFile/init(from:registry:)`` lists the keys.
    ///   - registry: The names that the stack may use.
    ///   - serializers: The serializers for response values.
    ///   - trace: The reader of all calls, such as a `TraceStore`, or nil for none.
    ///   - timeSource: The source of time for calls.
    ///   - randomSource: The source of randomness for calls.
    ///   - onReload: A closure that ``run()`` calls after each change, with the new stack file or
    ///     an error. After an error, the old stack stays. A repeated error is reported once. The
    ///     closure also runs if a wrong configuration is changed back to the configuration in use.
    /// - Throws: `ClientError.Code.configuration` with every mistake, or
    ///   `ClientError.Code.unsupported`.
    public init(
        _ config: ConfigReader, registry: Registry = .standard,
        serializers: SerializerTable = .standard, trace: (any CallReader)? = nil,
        timeSource: any TimeSource = SystemTimeSource(),
        randomSource: any RandomSource = SystemRandomSource(),
        onReload: @escaping @Sendable (Result<StackFile, any Error>) -> Void
    ) throws {
        self.config = config
        self.registry = registry
        self.onReload = onReload
        configured = try ConfiguredClient(
            StackFile(from: config.snapshot(), registry: registry), registry: registry,
            serializers: serializers, trace: trace, timeSource: timeSource,
            randomSource: randomSource)
    }

    /// The client, which stays the same object after a reload.
    public var client: Client { configured.client }

    /// The current stack, as a stack file.
    public var file: StackFile { configured.file }

    /// Reads the configuration now, and replaces the stack even without a change.
    ///
    /// The method also reads the file in `stackFile`, and the files and variables in that file. A
    /// service can call this method at SIGHUP. The method does not call `onReload`.
    /// - Throws: `ClientError.Code.configuration` with every mistake, or
    ///   `ClientError.Code.unsupported`. After an error, the old stack stays.
    public func reload() throws {
        try refusal.withLock { refusal in
            try configured.reload(StackFile(from: config.snapshot(), registry: registry))
            refusal = nil
        }
    }

    /// Watches the configuration until the task is cancelled, and applies each change.
    ///
    /// Only the configuration is watched. After a change of the file in `stackFile`, call
    /// ``reload()``. A provider that does not watch its source reports no changes.
    ///
    /// The method can be a service of swift-service-lifecycle. A graceful shutdown must cancel the
    /// method, as with `cancelWhenGracefulShutdown { try await upstream.run() }`. The method does
    /// not shut down the client.
    /// - Throws: The error of a provider that cannot begin to watch.
    public func run() async throws {
        try await config.watchSnapshot { snapshots in
            // `followed` reads the newest configuration, which may be newer than the reported one.
            for await _ in snapshots {
                if let result = followed() { onReload(result) }
            }
        }
        // The updates of a provider without changes may end.
        if Task.isCancelled { return }
        let (never, continuation) = AsyncStream<Never>.makeStream()
        for await _ in never {}
        continuation.finish()
    }

    /// Applies a change, and returns the result to report, or nil.
    private func followed() -> Result<StackFile, any Error>? {
        refusal.withLock { refusal in
            do {
                let file = try StackFile(from: config.snapshot(), registry: registry)
                if file != configured.file {
                    try configured.reload(file)
                } else if refusal == nil {
                    return nil
                }
                refusal = nil
                return .success(file)
            } catch {
                // While this part of the configuration is wrong, other parts may change.
                let text = String(describing: error)
                if refusal == text { return nil }
                refusal = text
                return .failure(error)
            }
        }
    }
}
