// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TurnpikeCore
import TurnpikeSupport

/// The network interfaces of this machine that are up and have an address.
public struct NetworkPath: Sendable, Hashable {
    /// The names of the interfaces, sorted, without loopback.
    public var interfaces: [String]

    /// Creates a path from the names of interfaces.
    public init(interfaces: [String]) { self.interfaces = interfaces.sorted() }

    /// Whether the machine has a route to other machines.
    ///
    /// The value does not say whether a particular machine can be reached.
    public var isReachable: Bool { !interfaces.isEmpty }
}

/// Reports the network connection of this machine, now and after each change.
///
/// ```swift
/// let monitor = PathMonitor.system()
/// for await path in monitor.paths { show(path.isReachable) }
/// ```
///
/// On Linux, the monitor uses rtnetlink; on Apple platforms, `NWPathMonitor`. Tests create a
/// monitor from a path, and change the path with ``update(_:)``.
public final class PathMonitor: Sendable {
    private struct State {
        var path: NetworkPath
        var nextObserver: UInt64 = 0
        var observers: [UInt64: @Sendable (NetworkPath) -> Void] = [:]
        var source: (any PathSource)?
    }

    private let state: Mutex<State>

    /// Creates a monitor that changes only with ``update(_:)``.
    public init(_ path: NetworkPath) { state = Mutex(State(path: path)) }

    /// Creates a monitor of this machine.
    ///
    /// The monitor stops when the monitor is released.
    ///
    /// If the system does not report changes (no netlink, another platform), the first path stays.
    /// If the monitor cannot read the state, the machine counts as connected.
    public static func system() -> PathMonitor {
        let monitor = PathMonitor(SystemPath.current() ?? NetworkPath(interfaces: ["unknown"]))
        let source = SystemPath.source { [weak monitor] path in monitor?.update(path) }
        monitor.state.withLock { $0.source = source }
        return monitor
    }

    deinit { state.withLock { $0.source }?.stop() }

    /// The current path.
    public var current: NetworkPath { state.withLock { $0.path } }

    /// The current path at first, and afterwards each change of the path.
    ///
    /// If the caller reads slowly, the caller gets only the latest path.
    public var paths: AsyncStream<NetworkPath> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: NetworkPath.self, bufferingPolicy: .bufferingNewest(1))
        let id = observe { continuation.yield($0) }
        continuation.onTermination = { [weak self] _ in self?.forget(id) }
        return stream
    }

    /// Sets the current path.
    public func update(_ path: NetworkPath) {
        // Under the lock, no observer gets an earlier path after a later path.
        state.withLock { state in
            guard state.path != path else { return }
            state.path = path
            for observer in state.observers.values { observer(path) }
        }
    }

    /// Waits until other machines are reachable, but at most for a limit.
    /// - Returns: Whether other machines are reachable.
    /// - Throws: `CancellationError`, or the error of the context's cancellation.
    public func waitUntilReachable(for limit: Duration, in context: Context) async throws -> Bool {
        if current.isReachable { return true }
        try context.checkCancellation()
        let moment = OneShot<Bool>()
        let id = observe { if $0.isReachable { moment.settle(.success(true)) } }
        let timer = context.timeSource.schedule(after: limit) { moment.settle(.success(false)) }
        let registration = context.onCancel { moment.settle(.failure($0.error)) }
        defer {
            forget(id)
            timer.cancel()
            registration.end()
        }
        return try await moment.value { moment.settle(.failure(CancellationError())) }
    }

    private func observe(_ observer: @escaping @Sendable (NetworkPath) -> Void) -> UInt64 {
        state.withLock { state in
            state.nextObserver += 1
            state.observers[state.nextObserver] = observer
            observer(state.path)
            return state.nextObserver
        }
    }

    private func forget(_ id: UInt64) {
        _ = state.withLock { $0.observers.removeValue(forKey: id) }
    }
}

/// Reports changes to a monitor.
protocol PathSource: Sendable {
    func stop()
}
