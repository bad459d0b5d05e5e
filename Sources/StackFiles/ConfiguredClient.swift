// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore

/// A client that a stack file describes, and that can load a new file without a restart.
///
/// ```swift
/// let configured = try ConfiguredClient(StackFile(contentsOf: url), registry: .standard, serializers: .standard)
/// let user = try await configured.client.get("users/1").decode(User.self)
/// try configured.reload(StackFile(contentsOf: url))  // a bad file throws, and changes nothing
/// ```
///
/// A reload builds the complete new stack before new calls use the new stack. Running calls keep
/// the old stack. The state of a gate (circuit breakers, budgets, cookie jars, caches) survives if
/// the `id` of the gate, or its name and position, is unchanged. Each gate decides which settings
/// identify the state of the gate (``Settings/reloadable(_:for:updating:_:)``). If a state
/// survives, new rules for the state also apply to running calls.
public final class ConfiguredClient: Sendable {
    private struct State {
        var file: StackFile
        var kept: ReloadableState
        // The value contains the texts of references.
        var transport: Unshown<JSONValue>
        let baseURL: Unshown<JSONValue>
    }

    /// The client that the file describes.
    public let client: Client
    private let registry: Registry
    private let state: Mutex<State>

    /// Creates a client from a stack file.
    /// - Parameters:
    ///   - file: The stack file.
    ///   - registry: The names that the file may use.
    ///   - serializers: The serializers for response values.
    ///   - trace: The reader of all calls, such as the `TraceStore` of the module
    ///     `TurnpikeInspection`, or nil.
    ///   - timeSource: The source of all times in calls.
    ///   - randomSource: The source of all randomness in calls.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` with every mistake in the file,
    ///   or ``/TurnpikeCore/ClientError/Code/unsupported``.
    public init(
        _ file: StackFile, registry: Registry, serializers: SerializerTable,
        trace: (any CallReader)? = nil, timeSource: any TimeSource = SystemTimeSource(),
        randomSource: any RandomSource = SystemRandomSource()
    ) throws {
        let transport = Unshown(resolving: file.root["transport"])
        let baseURL = Unshown(resolving: file.root["baseURL"])
        let kept = ReloadableState()
        let parts = try file.build(with: registry, state: kept)
        client = Client(
            baseURL: parts.baseURL, transport: parts.transport, stack: parts.stack,
            serializers: serializers, trace: trace, timeSource: timeSource,
            randomSource: randomSource)
        client.put(parts)
        kept.settle()
        self.registry = registry
        state = Mutex(State(file: file, kept: kept, transport: transport, baseURL: baseURL))
    }

    /// The stack file that is in use.
    public var file: StackFile { state.withLock { $0.file } }

    /// Loads another file.
    ///
    /// The transport does not change if the file's part for the transport and the texts of the
    /// references are unchanged. The same rule applies to the state that `shared` describes. The
    /// base URL cannot change, because earlier requests were resolved against the base URL.
    /// - Throws: ``/TurnpikeCore/ClientError/Code/configuration`` with every mistake. After this
    ///   error, the previous file stays in use.
    public func reload(_ file: StackFile) throws {
        try state.withLock { state in
            let kept = ReloadableState(following: state.kept)
            let transport = Unshown(resolving: file.root["transport"])
            let parts = try file.build(
                with: registry, state: kept,
                keeping: transport == state.transport ? client.transport : nil)
            // The check is after the build, because an unreadable reference is a separate mistake.
            guard Unshown(resolving: file.root["baseURL"]) == state.baseURL else {
                throw ClientError.configuration([
                    ConfigurationIssue(
                        path: "baseURL", message: "cannot change in a reload; create a new client")
                ])
            }
            client.put(parts)
            kept.settle()
            (state.file, state.kept, state.transport) = (file, kept, transport)
        }
    }
}

extension Client {
    // The client releases the shared state when the client ends, or after the last call of a stack
    // that used the state.
    fileprivate func put(_ parts: StackFile.Parts) {
        replace(stack: parts.stack, transport: parts.transport) { [shared = parts.shared] in
            await shared?.shutdown()
        }
    }
}
