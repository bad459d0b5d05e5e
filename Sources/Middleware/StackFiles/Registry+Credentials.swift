// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

extension Registry {
    mutating func registerCredentials() {
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
            gate: "digest",
            description: PartDescription(
                "Answers Digest challenges with a user name and a password (RFC 7616).",
                settings: [
                    "user": "The user name.", "password": "The password.", "origins": .origins,
                ],
                example:
                    #"{"use": "digest", "user": "svc", "password": {"file": "/run/secrets/api"}}"#)
        ) { DigestAuthentication(settings: $0) }
        register(
            gate: "bearer",
            description: PartDescription(
                """
                Sends a bearer token with each request (RFC 6750). With a `refreshURL`, a token \
                that is refused or expires is replaced: by the `refreshToken`, or by `clientID` \
                and `clientSecret` alone (RFC 6749). Place it inside `redirect`, outside \
                `attemptTimeout`.
                """,
                settings: [
                    "token": "The token; `clientID` and `clientSecret` can stand in for it.",
                    "refreshToken": "The refresh token.",
                    "refreshURL": "The URL of the token endpoint.",
                    "clientID": "The client's name at the token endpoint.",
                    "clientSecret": "The client's secret there.",
                    "scope": "The scopes to ask for.",
                    "maxRefreshes": "The most refused tokens that are replaced within `window`.",
                    "window": "The time over which refused tokens are counted.",
                    "refreshTimeout": "The longest time that a call waits for a refresh.",
                    "leeway": "How long before its expiry a token is replaced.",
                    "shared": .shared,
                    "tokenKey": """
                    The name of the tokens in the store, the same in all replicas of an account.
                    """,
                    "storesSecrets": """
                    Must be true with `shared`: whoever can read the store has the tokens.
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
            gate: "cookies",
            description: PartDescription(
                """
                Sends cookies, and stores those that servers set. Place it inside `redirect`.
                """,
                settings: [
                    "file": "The file that keeps the cookies; without one, they are in memory.",
                    "publicSuffixes": """
                    A file with the public suffix list. Without one, a cookie goes only to the \
                    host that has set it.
                    """,
                ],
                example: #"{"use": "cookies", "file": "/var/lib/app/cookies"}"#)
        ) { try Cookies(settings: $0) }
    }
}
