// SPDX-License-Identifier: Apache-2.0

public import ServiceLifecycle
public import TurnpikeEssentials
import TurnpikeSupport

/// A client as a service of swift-service-lifecycle: its end is part of the end of the program.
///
/// ```swift
/// let group = ServiceGroup(
///     services: [ClientService(client, grace: .seconds(5)), server],
///     gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// ```
///
/// A group ends its services in reverse order. Name the client before the services that use it, so
/// that they end first and can still make calls while they do.
///
/// On graceful shutdown the service:
///
/// 1. refuses new calls as ``/TurnpikeCore/ClientError/Code/cancelled``;
/// 2. lets calls under way end, for at most the grace time;
/// 3. cancels the other calls, and closes bodies that nobody has read to their ends. Their readers
///    get a ``/TurnpikeCore/ClientError/Code/cancelled`` that names the grace time;
/// 4. flushes the gates: caches, logs and meters write what they hold;
/// 5. closes the connections.
///
/// If the task is cancelled, before or during the grace time, step 2 ends at once. Either way
/// ``run()`` returns when everything is closed, and throws nothing: an error would make a group
/// cancel the services that still end gracefully.
public struct ClientService: Service {
    private let client: Client
    private let grace: Duration

    /// Creates a service.
    /// - Parameters:
    ///   - client: The client. Nothing else should shut it down.
    ///   - grace: How long calls under way may continue. The shutdown takes at most the sum of the
    ///     grace time, one second if a response is held without being read, and the times of all
    ///     gates, which flush one after the other: up to `RefreshPolicy.timeLimit` (30 seconds) for
    ///     each bearer gate whose refresh is under way, up to 5 seconds for each output of logs or
    ///     metrics that is stuck, and for a cache as long as its refreshes and its store take. The
    ///     sum must fit into the time that the supervisor gives the program to end, together with
    ///     the times of the other services.
    public init(_ client: Client, grace: Duration) {
        self.client = client
        self.grace = grace
    }

    /// Waits for the shutdown of the service, then ends the client.
    public func run() async {
        // It throws only if the task is cancelled, and then there is no grace.
        try? await gracefulShutdown()
        await client.shutdown(
            grace: grace,
            cancellingWith: ClientError(
                .cancelled,
                "the client's service was shut down, and the call had not ended within the grace"
                    + " time of at most \(grace.text)"))
    }
}
