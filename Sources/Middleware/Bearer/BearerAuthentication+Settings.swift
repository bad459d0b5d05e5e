import Foundation
import TurnpikeCore

extension BearerAuthentication {
    // What a token was made from: a reload that leaves it as it is keeps the token.
    private struct Key: Hashable, Sendable {
        let token: BearerToken?
        let endpoint: URL?
        let clientID: Secret?
        let clientSecret: Secret?
        let scope: [String]
    }

    init(settings: Settings) {
        let refreshToken = settings.string("refreshToken")
        let key = Key(
            token: settings.string("token").map { BearerToken($0, refreshToken: refreshToken) },
            endpoint: Self.endpoint(settings),
            clientID: settings.string("clientID").map { Secret($0) },
            clientSecret: settings.string("clientSecret").map { Secret($0) },
            scope: settings.strings("scope"))
        let policy = Self.policy(settings)
        // Without a refresh token it is the client's own identity that gets tokens.
        let isOwn = refreshToken == nil && key.clientID != nil && key.clientSecret != nil
        if let fault = key.token.flatMap({ Settings.defect(.authorization, $0.value) }) {
            settings.issue(at: "token", "cannot be sent: \(fault)")
        }
        if key.token?.isBlank == true, key.endpoint == nil {
            settings.issue(at: "token", "is empty; look where it comes from")
        }
        if key.token == nil, !isOwn || key.endpoint == nil {
            settings.issue(at: "token", "is missing; a text is wanted")
        }
        if key.endpoint == nil, refreshToken != nil || key.clientID != nil {
            settings.issue(at: "refreshURL", "is missing; it says where tokens are had")
        }
        if key.endpoint != nil, refreshToken == nil, !isOwn {
            settings.issue(
                at: "refreshToken", "is missing; so are clientID and clientSecret, its substitutes")
        }
        let tokens = settings.kept(
            "tokens", for: key, updating: { $0.update(policy) },
            {
                BearerTokens(
                    key.token, provider: Self.provider(key, isOwn: isOwn), policy: policy)
            })
        self.init(tokens, scope: settings.credentialScope())
    }

    private static func provider(_ key: Key, isOwn: Bool) -> (any BearerTokenProvider)? {
        guard let url = key.endpoint else { return nil }
        let endpoint = TokenEndpoint(
            url, clientID: key.clientID?.value, clientSecret: key.clientSecret?.value)
        if isOwn { return ClientCredentialsGrant(endpoint, scope: key.scope) }
        return RefreshTokenGrant(endpoint, scope: key.scope)
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
        settings.issue(at: "refreshURL", "an absolute http or https URL is wanted")
        return URL(filePath: "/")
    }
}
