// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeMiddleware
import TurnpikeSerializers

extension Registry {
    /// The transports and gates of `import Turnpike`, and its stack, as `standard`.
    public static var standard: Registry {
        var registry = Registry()
        // The first one is the transport of files that name none.
        registry.registerURLSession()
        registry.registerTransports()
        registry.registerMiddleware()
        registry.register(stack: "standard") { .standard }
        return registry
    }

    /// Registers the gates of `TurnpikeMiddleware`.
    public mutating func registerMiddleware() {
        registerTimeLimits()
        registerResilience()
        registerRetries()
        registerRateLimits()
        registerLoadLimits()
        registerCredentials()
        registerBearer()
        registerHeaderFields()
        registerPolicies()
        registerObservation()
    }
}

// Settings that several gates have.
extension SettingDescription {
    /// The setting `metrics`, which ``Settings/meter()`` reads.
    public static let metrics: SettingDescription = """
        Where figures of the gate are written: a file, or `"stderr"`; or, as `"meter:NAME"`, \
        a meter that the program has registered.
        """

    static let shared: SettingDescription = """
        Whether the gate uses the shared state of the file: true, or the name in `shared.use`.
        """

    static let origins = SettingDescription(
        """
        The origins that receive the credential, such as `"https://api.example.com"`. Without it, \
        that of `baseURL`; without a `baseURL`, that of the first request.
        """)

    static let secretOrigins = SettingDescription(
        """
        The origins that receive fields with secrets, such as `Authorization`. Without it, that \
        where a call begins.
        """, type: .list(of: .string))
}

extension ConfiguredClient {
    /// Creates a client with the standard registry and serializers.
    public convenience init(_ file: StackFile, trace: TraceStore? = nil) throws {
        try self.init(file, registry: .standard, serializers: .standard, trace: trace)
    }
}
