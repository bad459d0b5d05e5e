// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Turnpike

/// Sends each request with the transport of the region that the request names.
public final class RegionalTransport: Transport {
    private let home: any Transport
    private let regions: [String: any Transport]
    private let isShutDown = Atomic(false)

    /// Creates a transport.
    /// - Parameters:
    ///   - home: The transport for requests that do not name a region.
    ///   - regions: The transports by the names of their regions.
    public init(home: any Transport, regions: [String: any Transport] = [:]) {
        self.home = home
        self.regions = regions
    }

    /// The capabilities that all transports have.
    public var capabilities: TransportCapabilities {
        regions.values.reduce(home.capabilities) { $0.intersection($1.capabilities) }
    }

    /// Whether one of the transports may prove who the client is.
    public var provesClient: Bool {
        home.provesClient || regions.values.contains { $0.provesClient }
    }

    /// Whether a server can end the process over one of the transports.
    public var canEndProcess: Bool {
        home.canEndProcess || regions.values.contains { $0.canEndProcess }
    }

    /// Sends a request with the transport of its region.
    /// - Throws: ``ClientError`` with the code `unsupported` if the region is unknown, or the
    ///   errors of its transport.
    public func send(_ request: Request, context: Context) async throws -> Response {
        try context.checkCancellation()
        if isShutDown.load(ordering: .acquiring) {
            throw ClientError(.cancelled, "the transport was shut down")
        }
        guard let region = request.headers[PreferRegion.field] else {
            return try await home.send(request, context: context)
        }
        guard let transport = regions[region] else {
            // Nothing was sent, so the request may be sent again.
            throw ClientError(
                .unsupported,
                "the request names an unknown region; expected one of"
                    + " \(regions.keys.sorted().joined(separator: ", "))",
                transfer: .init(.connecting))
        }
        var plain = request
        plain.headers[PreferRegion.field] = nil
        return try await transport.send(plain, context: context)
    }

    /// Shuts down all transports.
    ///
    /// Later sends fail.
    public func shutdown() async {
        isShutDown.store(true, ordering: .releasing)
        await home.shutdown()
        for transport in regions.values { await transport.shutdown() }
    }
}
