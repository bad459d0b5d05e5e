// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore

extension Registry {
    mutating func registerPolicies() {
        register(
            gate: "validate",
            description: PartDescription(
                "Refuses responses by their status and content type.",
                settings: [
                    "status": .init(
                        """
                        The statuses that are accepted: each a status, or a pair of the first and \
                        the last.
                        """,
                        type: .list(
                            of: .either(.integer(100...999), .pair(of: .integer(100...999)))),
                        default: [[200, 299]]),
                    "contentType": .init(
                        """
                        The media ranges that are accepted. `"accept"` means those of the \
                        request's `Accept`; null means any, or none.
                        """,
                        type: .either(.choice(["accept"]), .list(of: .string)), default: "accept"),
                    "keptBytes": "How many bytes of refused content the error keeps.",
                ],
                example: #"{"use": "validate", "status": [[200, 299], 404]}"#)
        ) { Validate(settings: $0) }
        register(
            gate: "redirect",
            description: PartDescription(
                """
                Follows redirects. Place it outside `retry`, `cookies` and credentials, so that \
                they see each hop.
                """,
                settings: [
                    "limit": "The most hops of one call; 0 returns redirects as they are.",
                    "allowDowngrade": "Whether https may redirect to http.",
                    "sensitiveHeaders": "More fields to drop on a change of origin.",
                ],
                example: #"{"use": "redirect", "limit": 5}"#)
        ) { Redirect(settings: $0) }
        register(
            gate: "urlPolicy",
            description: PartDescription(
                """
                Decides which URLs may be sent to, by scheme, host and address. Place it inside \
                `redirect`, as far inside as possible.
                """,
                settings: [
                    "schemes": .init(
                        "The allowed schemes.", default: ["http", "https"]),
                    "allowedHosts": """
                    The allowed hosts: each a host, or `*.` and a domain. Without it, any.
                    """,
                    "deniedHosts": "Hosts that are refused, even if they are allowed.",
                    "denyPrivate": """
                    When addresses that are not public are refused; after a redirect, or always.
                    """,
                    "resolve": """
                    Whether names are looked up for `denyPrivate`; if not, only the form of a name \
                    is checked, which is for clients behind a proxy that does the rest.
                    """,
                ],
                example: #"""
                    {"use": "urlPolicy", "schemes": ["https"], "denyPrivate": "always"}
                    """#)
        ) { URLPolicy(settings: $0) }
        register(
            gate: "hsts",
            description: PartDescription(
                """
                Sends requests over TLS to hosts that have asked for it (RFC 6797). Place it \
                inside `redirect`, outside `cookies` and credentials.
                """,
                settings: [
                    "file": "The file that keeps the hosts; without one, they are in memory."
                ],
                example: #"{"use": "hsts", "file": "/var/lib/app/hsts"}"#)
        ) { try HSTS(settings: $0) }
        register(
            gate: "limits",
            description: PartDescription(
                "Bounds what a server can make the client hold or read.",
                settings: [
                    "body": """
                    The bytes of content, streams and downloads included. Without it, only content \
                    that is collected in memory is bounded, at 104857600.
                    """,
                    "headers": "The bytes of the header section.",
                    "headerCount": "The lines of the header section.",
                    "ratio": "How many times larger content may become by decoding.",
                    "codings": "How many content codings may be applied one after another.",
                    "line": "The bytes of one line, item or event of a stream.",
                ],
                example: #"{"use": "limits", "body": 10485760}"#)
        ) { Limits(settings: $0) }
    }
}
