// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeEssentials
import TurnpikeMiddleware
import TurnpikeSerializers

extension Registry {
    /// Everything that this module provides: gates, transports, and the stack `standard`.
    public static var standard: Registry {
        var registry = Registry()
        // The first one is the transport of files that name none.
        registry.registerURLSession()
        registry.registerTransports()
        registry.registerMiddleware()
        registry.register(stack: "standard") { .standard }
        return registry
    }
}

extension ConfiguredClient {
    /// Creates a client with the standard registry and serializers.
    public convenience init(_ file: StackFile, trace: TraceStore? = nil) throws {
        try self.init(file, registry: .standard, serializers: .standard, trace: trace)
    }
}
