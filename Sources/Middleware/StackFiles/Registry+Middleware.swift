// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore

extension Registry {
    /// Registers the gates of this module under their names in stack files.
    public mutating func registerMiddleware() {
        registerTimeLimits()
        registerResilience()
        registerLoadLimits()
        registerCredentials()
        registerHeaderFields()
        registerPolicies()
        registerObservation()
        registerSharedState()
    }
}

// Settings that several gates have.
extension SettingDescription {
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

    static let metrics: SettingDescription = """
        Where figures of the gate are written: a file, or `"stderr"`; or, as `"meter:NAME"`, \
        a meter that the program has registered.
        """

    static let budget: SettingDescription = """
        The share of the calls to an origin that may be sent again, by retries and hedges \
        together; null sets no bound.
        """
}
