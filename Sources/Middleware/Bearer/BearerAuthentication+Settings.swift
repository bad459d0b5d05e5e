import Foundation
import TurnpikeCore

extension BearerAuthentication {
    private struct Key: Hashable, Sendable {
        let token: BearerToken?
        let refreshURL: URL?
        let policy: RefreshPolicy
    }

    init(settings: Settings) {
        let refreshURL = Self.refreshURL(settings)
        let refreshToken = settings.string("refreshToken")
        if (refreshURL == nil) != (refreshToken == nil) {
            settings.issue(
                at: refreshURL == nil ? "refreshURL" : "refreshToken",
                "is missing; refreshURL and refreshToken belong together")
        }
        var policy = RefreshPolicy.standard
        policy.maxRefreshes = settings.int(
            "maxRefreshes", default: policy.maxRefreshes, in: 0...1000)
        policy.window = settings.seconds("window", default: policy.window)
        policy.timeLimit = settings.seconds("refreshTimeout", default: policy.timeLimit)
        policy.leeway = settings.seconds("leeway", default: policy.leeway, orZero: true)
        let token = BearerToken(settings.required("token"), refreshToken: refreshToken)
        let key = Key(token: token, refreshURL: refreshURL, policy: policy)
        let tokens = settings.kept("tokens", for: key) {
            BearerTokens(
                token, provider: refreshURL.map { RefreshTokenGrant(TokenEndpoint($0)) },
                policy: policy)
        }
        self.init(tokens, origins: settings.credentialOrigins())
    }

    private static func refreshURL(_ settings: Settings) -> URL? {
        guard let text = settings.string("refreshURL") else { return nil }
        if let url = URL(string: text), Origin(url) != nil { return url }
        settings.issue(at: "refreshURL", "an absolute http or https URL is wanted")
        return URL(filePath: "/")
    }
}
