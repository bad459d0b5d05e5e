// SPDX-License-Identifier: Apache-2.0

public import Configuration
import Synchronization
public import Turnpike
public import TurnpikeStackFiles

/// A client whose stack follows a configuration.
///
/// ```swift
/// let upstream = try ReloadingClient(config.scoped(to: "upstream")) { result in
///     if case .failure(let error) = result { logger.error("upstream: \(error)") }
/// }
/// let user = try await upstream.client.get("users/1").decode(User.self)
/// try await upstream.run()  // in a task or a service of its own
/// ```
///
/// The configuration is checked as a whole before the stack changes. A valid stack replaces the old
/// stack at once. Running calls keep the old stack. If there is a mistake, the old stack stays.
/// Circuits, budgets, limits, cookies and tokens stay too
/// (``/TurnpikeStackFiles/ConfiguredClient``). If the configuration lists gates, their state
/// belongs to the scope of the gate. In a stack file, it belongs to the `id`, or to the name and
/// place. The base URL cannot change.
public final class ReloadingClient: Sendable {
    private let config: ConfigReader
    private let registry: Registry
    private let configured: ConfiguredClient
    private let onReload: @Sendable (Result<StackFile, any Error>) -> Void
    // The last error that `onReload` got; nil if the configuration is in use. The lock is held
    // while a configuration is read and applied, so that an older configuration cannot replace a
    // newer one.
    private let refusal = Mutex<String?>(nil)

    /// Creates a client from the current configuration.
    /// - Parameters:
    ///   - config: The configuration, scoped to the client.
    ///     ``TurnpikeStackFiles/StackFile/init(from:registry:)`` lists the keys.
    ///   - registry: The names that the stack may use.
    ///   - serializers: The serializers for response values.
    ///   - trace: The reader of all calls, such as a `TraceStore`; nil for none.
    ///   - timeSource: The source of time for calls.
    ///   - randomSource: The source of randomness for calls.
    ///   - onReload: ``run()`` calls this after each change, with the new stack file, or with the
    ///     error because of which the old stack stays. An error that repeats is reported once.
    ///     `onReload` also runs if a wrong configuration is changed back to the configuration in
    ///     use.
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

    /// The client, which is the same object after a reload.
    public var client: Client { configured.client }

    /// The current stack, as a stack file.
    public var file: StackFile { configured.file }

    /// Reads the configuration now, and replaces the stack even if nothing has changed.
    ///
    /// The method also reads the file that `stackFile` names, and the files and variables that this
    /// file refers to. A service can call this at SIGHUP. `onReload` is not called.
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
    /// Only the configuration is watched. If the file that `stackFile` names changes, call
    /// ``reload()``. If a provider does not watch its source, it reports no changes.
    ///
    /// The method can be a service of swift-service-lifecycle. A graceful shutdown must cancel it:
    /// `cancelWhenGracefulShutdown { try await upstream.run() }`. The method does not shut down the
    /// client.
    /// - Throws: The error of a provider that cannot begin to watch.
    public func run() async throws {
        try await config.watchSnapshot { snapshots in
            // Reads the newest configuration, which may be newer than the reported one.
            for await _ in snapshots {
                if let result = followed() { onReload(result) }
            }
        }
        // If a provider has no changes, its updates may end.
        if Task.isCancelled { return }
        let (never, continuation) = AsyncStream<Never>.makeStream()
        for await _ in never {}
        continuation.finish()
    }

    /// Applies a change, and returns the result; nil if nothing new must be reported.
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
