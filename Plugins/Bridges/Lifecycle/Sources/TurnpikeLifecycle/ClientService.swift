// SPDX-License-Identifier: Apache-2.0

public import ServiceLifecycle
public import TurnpikeEssentials
import TurnpikeSupport

/// A client as a service of swift-service-lifecycle, which shuts the client down.
///
/// ```swift
/// let group = ServiceGroup(
///     services: [ClientService(client, grace: .seconds(5)), server],
///     gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// ```
///
/// List the client before the services that use the client, because a group ends services in
/// reverse order. The later services end first, and can make calls until that end.
///
/// On a graceful shutdown, the service
///
/// 1. refuses new calls as ``/TurnpikeCore/ClientError/Code/cancelled``;
/// 2. lets running calls end within the grace time;
/// 3. cancels the remaining calls, and closes unread bodies. The readers get a
///    ``/TurnpikeCore/ClientError/Code/cancelled`` that contains the grace time;
/// 4. flushes the gates, which makes caches, logs and meters write their data;
/// 5. closes the connections.
///
/// If the task is cancelled before or during the grace time, step 2 ends at once. ``run()`` returns
/// after the last step, and throws no error. After an error, a group would cancel services that are
/// still ending gracefully.
public struct ClientService: Service {
    private let client: Client
    private let grace: Duration

    /// Creates a service.
    /// - Parameters:
    ///   - client: The client, which only this service should shut down.
    ///   - grace: The time for which running calls may continue after the begin of the shutdown.
    ///     The shutdown takes longer. An unread response adds up to one second, and all gates flush
    ///     one after another. A bearer gate with a running refresh takes up to
    ///     `RefreshPolicy.timeLimit` (30 seconds). A blocked output of logs or metrics takes up to
    ///     5 seconds. A cache takes the time of running refreshes and of the store. The supervisor
    ///     of the program must allow enough time for this sum and for the other services.
    public init(_ client: Client, grace: Duration) {
        self.client = client
        self.grace = grace
    }

    /// Waits for the shutdown of the service, and afterwards ends the client.
    public func run() async {
        // The wait throws only if the task is cancelled. In this case, there is no grace time.
        try? await gracefulShutdown()
        await client.shutdown(
            grace: grace,
            cancellingWith: ClientError(
                .cancelled,
                "the client's service was shut down, and the call did not end within the grace"
                    + " time of at most \(grace.text)"))
    }
}
