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
/// The configuration is checked as a whole before anything changes. A stack without mistakes
/// replaces the old one at once; calls under way keep the old stack until they end. With a mistake
/// the old stack stays in force. Circuits, budgets, limits, cookies and tokens survive
/// (``/TurnpikeStackFiles/ConfiguredClient``): by the scope of the gate where the configuration
/// lists gates, and by its `id`, or its name and place, in a stack file. The base URL cannot
/// change.
public final class ReloadingClient: Sendable {
    private let config: ConfigReader
    private let registry: Registry
    private let configured: ConfiguredClient
    private let onReload: @Sendable (Result<StackFile, any Error>) -> Void
    // The error that was passed to `onReload` for the configuration that is not in force. The lock
    // is held while a configuration is read and put in force, so that an older one cannot replace a
    // newer one.
    private let refusal = Mutex<String?>(nil)

    /// Creates a client from the present configuration.
    /// - Parameters:
    ///   - config: The configuration, scoped to the client;
    ///     ``TurnpikeStackFiles/StackFile/init(from:registry:)`` names the keys.
    ///   - registry: The names that the stack may use.
    ///   - serializers: The serializers for response values.
    ///   - trace: Reads all calls, such as a `TraceStore`; nil for none.
    ///   - timeSource: The source of all times in calls.
    ///   - randomSource: The source of all randomness in calls.
    ///   - onReload: Called by ``run()`` after each change of the stack, with what is in force now,
    ///     or with the error for which the old one stays; once for the same error. Also called when
    ///     a wrong configuration is changed back to the one in force.
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

    /// The client, which stays the same.
    public var client: Client { configured.client }

    /// The stack in force, as a stack file.
    public var file: StackFile { configured.file }

    /// Reads the configuration now, and replaces the stack even if it is unchanged.
    ///
    /// So a file that `stackFile` names is read again, and so are files and variables that it
    /// refers to. A service calls this on SIGHUP. `onReload` is not called.
    /// - Throws: `ClientError.Code.configuration` with every mistake, or
    ///   `ClientError.Code.unsupported`. The old stack then stays in force.
    public func reload() throws {
        try refusal.withLock { refusal in
            try configured.reload(StackFile(from: config.snapshot(), registry: registry))
            refusal = nil
        }
    }

    /// Watches the configuration until the task is cancelled, and replaces a changed stack.
    ///
    /// Only the configuration is watched: a change in the file that `stackFile` names is not
    /// noticed (``reload()``). A provider that does not watch its source reports no changes either.
    ///
    /// The method has the shape of a service of swift-service-lifecycle, whose graceful shutdown
    /// must cancel it: `cancelWhenGracefulShutdown { try await upstream.run() }`. It does not shut
    /// the client down.
    /// - Throws: The error of a provider when its watch begins.
    public func run() async throws {
        try await config.watchSnapshot { snapshots in
            // The newest configuration counts, which may be newer than the one that is reported.
            for await _ in snapshots {
                if let result = followed() { onReload(result) }
            }
        }
        // A provider without changes may end its updates.
        if Task.isCancelled { return }
        let (never, continuation) = AsyncStream<Never>.makeStream()
        for await _ in never {}
        continuation.finish()
    }

    /// The result of a change; nil if there is nothing new to report.
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
                // Other parts of the configuration may change while this one is wrong.
                let text = String(describing: error)
                if refusal == text { return nil }
                refusal = text
                return .failure(error)
            }
        }
    }
}
