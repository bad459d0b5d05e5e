// SPDX-License-Identifier: Apache-2.0

public import TurnpikeAuthentication
import TurnpikeCore
import TurnpikeMiddleware
public import TurnpikeStackFiles
import TurnpikeSupport

extension Registry {
    /// Registers the gates of `TurnpikeAuthentication`: `basic`, `bearer` and `digest`.
    public mutating func registerAuthentication() {
        register(
            gate: "basic",
            description: PartDescription(
                "Sends a user name and a password with each request (RFC 7617).",
                settings: [
                    "user": "The user name, without a colon.", "password": "The password.",
                    "origins": .origins,
                ],
                example: #"{"use": "basic", "user": "svc", "password": {"env": "API_PASSWORD"}}"#)
        ) { BasicAuthentication(settings: $0) }
        register(
            gate: "bearer",
            description: PartDescription(
                """
                Sends a bearer token with each request (RFC 6750). With a `refreshURL`, the gate \
                replaces a token that is refused or expires. The gate gets the new token with the \
                `refreshToken`, or with `clientID` and `clientSecret` alone (RFC 6749). Place the \
                gate inside `redirect`, outside `attemptTimeout`.
                """,
                settings: [
                    "token": "The token. With `clientID` and `clientSecret`, no token is needed.",
                    "refreshToken": "The refresh token.",
                    "refreshURL": "The URL of the token endpoint.",
                    "clientID": "The client's identifier at the token endpoint.",
                    "clientSecret": "The client's secret at the token endpoint.",
                    "scope": "The scopes to ask for.",
                    "maxRefreshes": """
                    The maximum number of refused tokens that are replaced within `window`.
                    """,
                    "window": "The period over which refused tokens are counted.",
                    "refreshTimeout": "The longest time that a call waits for a refresh.",
                    "leeway": "The time between the replacement of a token and its expiry.",
                    "shared": .shared,
                    "tokenKey": """
                    The name of the token in the store. All replicas of an account need the same \
                    name.
                    """,
                    "storesSecrets": """
                    Must be true with `shared`, because everyone who can read the store can read \
                    the tokens.
                    """,
                    "origins": .origins,
                ],
                example: #"""
                    {"use": "bearer", "token": {"env": "TOKEN"}, "refreshToken": {"env": "REFRESH_TOKEN"},
                     "refreshURL": "https://id.example.com/token", "shared": true,
                     "tokenKey": "payments", "storesSecrets": true}
                    """#)
        ) { BearerAuthentication(settings: $0) }
        register(
            gate: "digest",
            description: PartDescription(
                "Answers Digest challenges with a user name and a password (RFC 7616).",
                settings: [
                    "user": "The user name.", "password": "The password.", "origins": .origins,
                ],
                example:
                    #"{"use": "digest", "user": "svc", "password": {"file": "/run/secrets/api"}}"#)
        ) { DigestAuthentication(settings: $0) }
    }
}

extension BasicAuthentication {
    init(settings: Settings) {
        let user = settings.required("user")
        let password = settings.required("password")
        if user.utf8.contains(UInt8(ascii: ":")) {
            settings.issue(at: "user", "the user's name has a colon")
        }
        for (key, text, name) in [
            ("user", user, "the user's name"), ("password", password, "the password"),
        ] where text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) {
            settings.issue(at: key, "\(name) has a control character")
        }
        self.init(user: user, password: password, origins: settings.keptOrigins())
    }
}

extension BearerAuthentication {
    private struct Source {
        let refreshToken, clientID, clientSecret: String?
        let token: BearerToken?
        let endpoint: URL?
        let scope: [String]
        let shared: (part: any SharedTokenGates, key: String)?

        init(_ settings: Settings) {
            let refreshToken = settings.string("refreshToken")
            self.refreshToken = refreshToken
            token = settings.string("token").map { BearerToken($0, refreshToken: refreshToken) }
            endpoint = BearerAuthentication.endpoint(settings)
            clientID = settings.string("clientID")
            clientSecret = settings.string("clientSecret")
            scope = settings.strings("scope")
            shared = settings.sharedTokens()
        }

        /// Whether the client gets tokens with its credentials instead of a refresh token.
        var isOwn: Bool { refreshToken == nil && clientID != nil && clientSecret != nil }

        var provider: (any BearerTokenProvider)? {
            guard let endpoint else { return nil }
            let place = TokenEndpoint(
                Target(endpoint), clientID: clientID, clientSecret: clientSecret)
            if isOwn { return ClientCredentialsGrant(place, scope: scope) }
            return RefreshTokenGrant(place, scope: scope)
        }

        // If a reload does not change the settings in the key, the token stays. The position of the
        // gate in the stack and the other settings have no influence. After a refresh, the current
        // token may be the only valid token.
        var key: Key {
            Key(
                token: refreshToken == nil ? token : nil,
                secrets: [refreshToken, clientID].map { $0.map { Secret($0) } }, endpoint: endpoint,
                scope: isOwn ? scope : [], store: shared.map { ObjectIdentifier($0.part) },
                sharedKey: shared?.key)
        }
    }

    private struct Key: Hashable, Sendable {
        let token: BearerToken?
        let secrets: [Secret?]
        let endpoint: URL?
        let scope: [String]
        let store: ObjectIdentifier?
        let sharedKey: String?
    }

    init(settings: Settings) {
        let source = Source(settings)
        let policy = Self.policy(settings)
        Self.check(source, settings)
        let (provider, scope) = (source.provider, source.scope)
        let tokens = settings.shared(
            "bearer", for: source.key,
            updating: { $0.update(policy: policy, provider: provider, requestedScope: scope) },
            {
                BearerTokens(
                    source.token, provider: provider, policy: policy, requestedScope: scope,
                    sharing: source.shared.flatMap { $0.part.tokens(key: $0.key) })
            })
        self.init(tokens, origins: settings.keptOrigins())
    }

    private static func check(_ source: Source, _ settings: Settings) {
        if let fault = source.token.flatMap({ Settings.defect(.authorization, $0.value) }) {
            settings.issue(at: "token", "cannot be sent: \(fault)")
        }
        let isBlank = source.token.map { Grammar.trimmed($0.value).isEmpty } ?? false
        if isBlank, source.endpoint == nil {
            settings.issue(at: "token", "is empty; check the source of the token")
        }
        if source.token == nil, !source.isOwn || source.endpoint == nil {
            settings.issue(at: "token", "is missing; expected a string")
        }
        if source.endpoint == nil, source.refreshToken != nil || source.clientID != nil {
            settings.issue(at: "refreshURL", "is missing; name the URL of the token endpoint")
        }
        if source.shared != nil, source.endpoint == nil {
            settings.issue(
                at: "shared", "needs a refreshURL, because only refreshed tokens are shared")
        }
        if source.endpoint != nil, source.refreshToken == nil, !source.isOwn {
            settings.issue(
                at: "refreshToken", "is missing; set it, or set clientID and clientSecret")
        }
    }

    private static func policy(_ settings: Settings) -> RefreshPolicy {
        let standard = RefreshPolicy.standard
        return RefreshPolicy(
            maxRefreshes: settings.int(
                "maxRefreshes", default: standard.maxRefreshes, in: 0...1000),
            window: settings.seconds("window", default: standard.window),
            timeLimit: settings.seconds("refreshTimeout", default: standard.timeLimit),
            leeway: settings.seconds("leeway", default: standard.leeway, orZero: true))
    }

    private static func endpoint(_ settings: Settings) -> URL? {
        guard let text = settings.string("refreshURL") else { return nil }
        if let url = URL(string: text), Origin(url) != nil { return url }
        settings.issue(at: "refreshURL", "expected an absolute http or https URL")
        return URL(filePath: "/")
    }
}

/// Shared state with a place for the tokens of the gate `bearer`.
///
/// The module `TurnpikeSharedStateStackFiles` contains an implementation.
public protocol SharedTokenGates: SharedPart {
    /// Returns the place of the named token in shared state, or nil if no state is shared.
    func tokens(key: String) -> (any BearerTokenSharing)?
}

extension Settings {
    // Returns the place of the gate's token, or nil if no token is shared or an issue is found.
    fileprivate func sharedTokens() -> (part: any SharedTokenGates, key: String)? {
        let part = sharedPart((any SharedTokenGates).self)
        let key = string("tokenKey")
        let storesSecrets = bool("storesSecrets", default: false)
        guard usesSharedPart else {
            for (name, isThere) in [("tokenKey", key != nil), ("storesSecrets", storesSecrets)]
            where isThere {
                issue(
                    at: name, "has no effect without \"shared\": true; set both or neither")
            }
            return nil
        }
        if !storesSecrets {
            issue(
                at: "shared",
                "would store tokens without encryption in the store; to allow that, write"
                    + " \"storesSecrets\": true")
        }
        if key?.isEmpty ?? true {
            issue(
                at: "tokenKey", "is missing; name the tokens, with the same name in all replicas")
        }
        guard let part, storesSecrets, let key, !key.isEmpty else { return nil }
        return (part, key)
    }
}

extension DigestAuthentication {
    init(settings: Settings) {
        let user = settings.required("user")
        let password = settings.required("password")
        if let fault = Settings.defect(.authorization, user) {
            settings.issue(at: "user", "cannot be sent: \(fault)")
        }
        self.init(
            user: user, password: password, origins: settings.keptOrigins(),
            sessions: settings.reloadable("sessions", for: [Secret(user), Secret(password)]) {
                Sessions()
            }
        )
    }
}
