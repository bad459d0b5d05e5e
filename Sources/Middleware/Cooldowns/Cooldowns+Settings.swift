// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

extension Cooldowns {
    private struct Terms: Hashable, Sendable {
        let store: ObjectIdentifier?
        let keyField: HTTPHeaders.Name?
    }

    /// The cool-downs of a stack's limits and retries, which a reload keeps.
    /// - Parameters:
    ///   - settings: The settings of the gate.
    ///   - state: Its shared state.
    ///   - keyField: The field that names whose cool-down a request falls under.
    /// - Returns: The cool-downs; nil if the gate honours none.
    static func ofStack(
        _ settings: Settings, _ state: SharedState?, _ keyField: HTTPHeaders.Name?
    ) -> Cooldowns? {
        guard settings.bool("cooldowns", default: false) || state != nil else { return nil }
        if keyField == nil, let state { return state.cooldowns }
        let terms = Terms(store: state.map { ObjectIdentifier($0.access) }, keyField: keyField)
        var key: (@Sendable (Request) -> String?)?
        if let keyField { key = { $0.headers[keyField] } }
        return settings.shared("cooldowns", for: terms) { [key] in
            Cooldowns(shared: state, key: key)
        }
    }
}

extension Settings {
    /// The field that names whose quota a request uses, such as a tenant.
    func quotaKeyField() -> HTTPHeaders.Name? {
        guard let name = headerName("keyHeader") else { return nil }
        // The value becomes part of a key of the store.
        if Redaction.standard.hides(header: name) {
            issue(at: "keyHeader", "found a field with secrets; expected one that names an account")
        }
        return name
    }
}

extension SettingDescription {
    static let keyHeader: SettingDescription = """
        The field of the request that names whose quota it uses, such as a tenant: each value has a \
        quota of its own at an origin. No secrets.
        """

    static let cooldowns: SettingDescription = """
        Whether nothing is sent to an origin that answered 429 or 503 with `Retry-After` until then. \
        Limits and retries of a stack have their cool-downs in common. True with `shared`.
        """
}
