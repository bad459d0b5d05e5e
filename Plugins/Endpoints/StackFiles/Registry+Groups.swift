// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeEndpoints
import TurnpikeStackFiles

extension Registry {
    mutating func registerGroups() {
        register(
            gate: "canary",
            description: PartDescription(
                """
                Spreads the requests below a base URL over groups of servers, by weight. Place it \
                outside gates for credentials, cookies, caches and circuits.
                """,
                settings: [
                    "of": "The base URL of the requests.",
                    "groups": .init("The groups.", type: .list(of: .object), isRequired: true),
                    "groups.baseURL": "The base URL of the group.",
                    "groups.weight": "Its share of the requests against the others'.",
                    "keyHeader": """
                    A header field, whose values each go to one group. Without it, a call does.
                    """,
                ],
                example: #"""
                    {"use": "canary", "of": "https://api.example.com/", "keyHeader": "X-User",
                     "groups": [{"baseURL": "https://api.example.com/", "weight": 95},
                                {"baseURL": "https://next.example.com/", "weight": 5}]}
                    """#)
        ) { Canary(settings: $0) }
        register(
            gate: "mirror",
            description: PartDescription(
                """
                Sends copies of safe requests below a base URL to other servers in the background, \
                and compares the answers. Place it next to the transport.
                """,
                settings: [
                    "of": "The base URL of the requests.", "to": "The base URL of their copies.",
                    "limit": "The most copies that are under way.",
                    "maxBytes": "The most bytes of content of a copy, and of the answer to it.",
                    "seconds": "The longest time of a copy.",
                    "credentials": "Whether secrets, except cookies, go to another origin.",
                    "metrics": .metrics, "switch": .control,
                ],
                example: #"""
                    {"use": "mirror", "of": "https://api.example.com/",
                     "to": "https://next.example.com/", "switch": 0.1}
                    """#)
        ) { $0.switched(MirrorRequests(settings: $0)) }
    }
}

extension Canary {
    fileprivate init(settings: Settings) {
        var groups: [String: Double] = [:]
        for (index, value) in (settings.list("groups") ?? []).enumerated() {
            let group = settings.nested(value.object ?? [:], at: "groups[\(index)]")
            let weight = group.requiredDouble("weight", in: 0...1e9)
            if groups.updateValue(weight, forKey: group.required("baseURL")) != nil {
                group.issue(at: "baseURL", "is there twice")
            }
            group.finish()
        }
        let service = settings.required("of")
        let field = settings.string("keyHeader").map { HTTPHeaders.Name($0) }
        self.init(of: service, groups: groups) { request in
            field.flatMap { request.headers[$0] }
        }
        if let fault, !service.isEmpty { settings.issue(at: "groups", fault.message) }
    }
}

extension MirrorRequests {
    fileprivate init(settings: Settings) {
        let (service, group) = (settings.required("of"), settings.required("to"))
        self.init(
            of: service, to: group,
            limit: settings.int("limit", default: 32, in: 1...10_000),
            maxBytes: settings.int("maxBytes", default: 1_048_576, in: 0...1_073_741_824),
            timeLimit: settings.seconds("seconds", default: .seconds(5)),
            carriesCredentials: settings.bool("credentials", default: false),
            meter: settings.meter())
        if let fault, !service.isEmpty, !group.isEmpty { settings.issue(at: "to", fault.message) }
    }
}
