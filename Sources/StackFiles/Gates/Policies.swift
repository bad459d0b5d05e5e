// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
public import TurnpikeMiddleware

extension Registry {
    mutating func registerPolicies() {
        register(
            gate: "validate",
            description: PartDescription(
                "Refuses responses by their status and content type.",
                settings: [
                    "status": .init(
                        """
                        The statuses that are accepted. An element is a status, or a pair of the \
                        first and the last status.
                        """,
                        type: .list(
                            of: .either(.integer(100...999), .pair(of: .integer(100...999)))),
                        default: [[200, 299]]),
                    "contentType": .init(
                        """
                        The media ranges that are accepted. `"accept"` means the ranges in the \
                        request's `Accept`. null means any type, or no type.
                        """,
                        type: .either(.choice(["accept"]), .list(of: .string)), default: "accept"),
                    "keptBytes": "The maximum number of bytes of refused content in the error.",
                ],
                example: #"{"use": "validate", "status": [[200, 299], 404]}"#)
        ) { Validate(settings: $0) }
        register(
            gate: "redirect",
            description: PartDescription(
                """
                Follows redirects. Place the gate outside `retry`, `cookies` and credentials, so \
                that these gates see each hop.
                """,
                settings: [
                    "limit": """
                    The maximum number of hops of one call. With 0, redirects are returned \
                    unchanged.
                    """,
                    "allowDowngrade": "Whether https may redirect to http.",
                    "sensitiveHeaders": "Additional fields to drop if the origin changes.",
                ],
                example: #"{"use": "redirect", "limit": 5}"#)
        ) { settings in
            Redirect(
                limit: settings.int("limit", default: 10, in: 0...100),
                allowDowngrade: settings.bool("allowDowngrade", default: false),
                sensitiveHeaders: settings.headerNames("sensitiveHeaders"))
        }
        register(
            gate: "urlPolicy",
            description: PartDescription(
                """
                Restricts the URLs of requests, by scheme, host and address. Place the gate inside \
                `redirect`, as far inside as possible.
                """,
                settings: [
                    "schemes": .init(
                        "The allowed schemes.", default: ["http", "https"]),
                    "allowedHosts": """
                    The allowed hosts. An element is a host, or `*.` and a domain. By default, any \
                    host is allowed.
                    """,
                    "deniedHosts": "Hosts that are refused, even if `allowedHosts` contains them.",
                    "denyPrivate": """
                    In which cases addresses that are not public are refused: never, after a \
                    redirect, or always.
                    """,
                    "resolve": """
                    Whether names are looked up for `denyPrivate`. If false, only the form of a \
                    name is checked. Use false behind a proxy that refuses private addresses.
                    """,
                ],
                example: #"""
                    {"use": "urlPolicy", "schemes": ["https"], "denyPrivate": "always"}
                    """#)
        ) { URLPolicy(settings: $0) }
        register(
            gate: "limits",
            description: PartDescription(
                "Limits the bytes that a server can make the client hold or read.",
                settings: [
                    "body": """
                    The maximum number of bytes of content, including streams and downloads. \
                    Without `bytes`, content that is collected in memory is limited to 104857600 \
                    bytes, and other content has no limit.
                    """,
                    "headers": "The maximum number of bytes of the header section.",
                    "headerCount": "The maximum number of lines of the header section.",
                    "ratio": "The maximum factor by which decoding may enlarge the content.",
                    "codings": """
                    The maximum number of content codings that are applied one after another.
                    """,
                    "line": "The maximum number of bytes of one line, item or event of a stream.",
                ],
                example: #"{"use": "limits", "body": 10485760}"#)
        ) { Limits(Limits.Bounds($0)) }
    }
}

extension Validate {
    init(settings: Settings) {
        self.init(
            status: Self.statuses(settings), contentType: Self.contentType(settings),
            keptBytes: settings.int("keptBytes", default: 4096, in: 0...Int.max))
    }

    private static func statuses(_ settings: Settings) -> StatusSet {
        guard let entries = settings.list("status") else { return .successful }
        return StatusSet(
            settings.each(entries, of: "status", expected: "a status or a pair [from, to]") {
                let codes = 100...999
                if let code = $0.int { return codes.contains(code) ? code...code : nil }
                guard let low = $0[0]?.int, let high = $0[1]?.int, $0.array?.count == 2,
                    low <= high, codes.contains(low), codes.contains(high)
                else { return nil }
                return low...high
            })
    }

    private static func contentType(_ settings: Settings) -> ContentType {
        if settings.isNull("contentType") { return .any }
        guard let value = settings.value("contentType") else { return .accept }
        if value == "accept" { return .accept }
        guard value.array != nil else {
            settings.issue(
                at: "contentType", "expected \"accept\", an array of media ranges, or null")
            return .accept
        }
        return .ranges(
            settings.each(
                settings.strings("contentType"), of: "contentType",
                expected: "a media range such as text/*"
            ) { MediaType(parsing: $0) })
    }
}

extension URLPolicy {
    init(settings: Settings) {
        let schemes = settings.optionalStrings("schemes") ?? ["http", "https"]
        _ = settings.each(schemes, of: "schemes", expected: "\"http\" or \"https\"") {
            ["http", "https"].contains($0) ? $0 : nil
        }
        func patterns(_ key: String) -> [HostPattern]? {
            settings.optionalStrings(key).map {
                settings.each($0, of: key, expected: "a host or \"*.domain\"") {
                    let pattern = HostPattern($0)
                    return pattern.isUsable ? pattern : nil
                }
            }
        }
        let resolves = settings.bool("resolve", default: true)
        self.init(
            schemes: Set(schemes), allowedHosts: patterns("allowedHosts"),
            deniedHosts: patterns("deniedHosts") ?? [],
            denyPrivate: settings.choice("denyPrivate", default: PrivateAddresses.never),
            resolver: resolves ? SystemHostResolver() : nil)
    }
}

extension Limits.Bounds {
    /// Creates limits from the settings of a stack file or of a call.
    public init(_ settings: Settings) {
        self.init(
            body: settings.optionalInt("body", in: 0...Int.max),
            headers: settings.int("headers", default: 262_144, in: 0...Int.max),
            headerCount: settings.int("headerCount", default: 1000, in: 0...Int.max),
            ratio: settings.int("ratio", default: 100, in: 1...1_000_000),
            codings: settings.int("codings", default: 2, in: 1...100),
            line: settings.int("line", default: 1_048_576, in: 1...Int.max))
    }
}
