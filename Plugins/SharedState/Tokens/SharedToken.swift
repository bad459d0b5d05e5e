// SPDX-License-Identifier: Apache-2.0

import TurnpikeAuthentication
import TurnpikeCore
import TurnpikeSupport

/// A token in the common format of all replicas.
///
/// The format is JSON: `{"version": 1, "access": …, "refresh": …, "expires": seconds since 1970,
/// "scope": […]}`. Without `access`, the token was removed. This code must not use a token with a
/// version above 1. Unknown members are ignored.
struct SharedToken: Sendable {
    /// The token, or nil if the token was removed.
    let token: BearerToken?
    let scope: [String]
    /// The fencing number of the lock under which the token was stored.
    let fence: UInt64

    private static let maxBytes = 65_536
    private static let maxTokenBytes = 16_384

    init(_ token: BearerToken?, scope: [String], fence: UInt64) {
        self.token = token
        self.scope = scope
        self.fence = fence
    }

    init?(_ stored: StoredToken) {
        guard stored.content.count <= Self.maxBytes,
            let value = (try? JSONValue(parsing: stored.content))?.object,
            value["version"]?.int == 1
        else { return nil }
        scope = value["scope"]?.array?.compactMap(\.string) ?? []
        fence = stored.fence
        guard let access = value["access"] else {
            token = nil
            return
        }
        guard let text = access.string, Self.isToken(text) else { return nil }
        token = BearerToken(
            text, expires: value["expires"]?.double.map { Date(timeIntervalSince1970: $0) },
            refreshToken: value["refresh"]?.string)
    }

    // The characters are from RFC 6749 §A.12. A space would end the token in a field value.
    private static func isToken(_ text: String) -> Bool {
        (1...maxTokenBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    var stored: StoredToken {
        var value: JSONObject = ["version": 1, "scope": .array(scope.map { .string($0) })]
        if let token {
            value["access"] = .string(token.value)
            if let refresh = token.refreshToken { value["refresh"] = .string(refresh) }
            if let expires = token.expires {
                value["expires"] = JSONNumber(expires.timeIntervalSince1970).map { .number($0) }
            }
        }
        return StoredToken(JSONValue.object(value).data(), fence: fence)
    }
}
