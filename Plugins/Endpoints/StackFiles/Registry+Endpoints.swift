// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeEndpoints
import TurnpikeMiddleware
public import TurnpikeStackFiles

extension Registry {
    /// Adds the gates `endpoints`, `canary` and `mirror` to the names of stack files.
    public mutating func registerEndpoints() {
        registerGroups()
        register(
            gate: "endpoints",
            description: PartDescription(
                """
                Sends the requests for one host to its endpoints, and avoids endpoints that fail. \
                Only the connections go to endpoints: URL, `Host` and certificate keep the name. \
                Place the gate inside `retry` and `hedge`, next to the transport `curl`.
                """,
                settings: [
                    "for": "The host, with or without a port: `users.internal:8080`.",
                    "list": .init(
                        """
                        The endpoints, each a string such as `"10.0.0.7:8080"`, \
                        `"[2001:db8::7]:8080"` or `"unix:/run/users.sock"`, or an object. One of \
                        `list`, `file` and `dns` is needed.
                        """, type: .list(of: .either(.string, .object))),
                    "list.address": "An address or a name, with its port if there is no `port`.",
                    "list.port": "The port.",
                    "list.weight": "The share of the load, relative to the other endpoints.",
                    "list.zone": "The zone that the endpoint runs in.",
                    "file": """
                    A JSON file with such a list, or with an object whose `endpoints` is such a \
                    list. A changed file is read again. A file with a mistake is ignored.
                    """,
                    "interval": "How often the file is checked.",
                    "dns": "Uses the addresses of a name in DNS.",
                    "dns.name": "The name. By default, the name in `for` is used.",
                    "dns.port": "The port of the endpoints. By default, the port in `for` is used.",
                    "dns.refresh": "How long the addresses of a lookup are used.",
                    "dns.limit": "The longest time for a lookup.",
                    "policy": """
                    How an endpoint is chosen: the less loaded of two, the faster of two, one \
                    after another, at random by weight, or by a key of the request.
                    """,
                    "hashHeader": """
                    For `"hash"`, the header field with the key. By default, the path is the key.
                    """,
                    "zone": "Prefers the endpoints of a zone.",
                    "zone.name": "The zone that the client runs in.",
                    "zone.spill": """
                    The share of the zone's endpoints that must be usable. If fewer are usable, \
                    requests leave the zone.
                    """,
                    "subset": "Uses only a part of the endpoints, if a service has hundreds.",
                    "subset.size": "How many endpoints the client uses.",
                    "subset.clientIndex": .init(
                        """
                        The number of this client among all clients, from 0 on. A string with the \
                        number is valid too, such as `{"env": "POD_INDEX"}`.
                        """, type: .either(.integer(0...1_000_000_000), .string), isRequired: true),
                    "health": "The rules for when an endpoint is ejected, and for how long.",
                    "health.consecutiveFailures": """
                    The number of failures in a row that ejects an endpoint. 0 means never.
                    """,
                    "health.interval": "The time over which success ratios are compared.",
                    "health.minimumRequests": """
                    An endpoint is judged if it had at least this many requests in the interval.
                    """,
                    "health.deviations": """
                    An endpoint is ejected if its success ratio is this number of standard \
                    deviations below that of the others.
                    """,
                    "health.ejection": "How long the first ejection lasts. Later ones last longer.",
                    "health.maxEjection": "The longest time of an ejection.",
                    "health.maxEjected": """
                    The share of the endpoints that may be ejected. With 0, no endpoint is ejected.
                    """,
                    "health.panic": """
                    The share of endpoints that must be healthy. If fewer are healthy, all are used.
                    """,
                    "health.slowStart": """
                    The time until a new or returned endpoint gets its full share of requests.
                    """,
                    "check": "Sends health checks to the endpoints.",
                    "check.path": "The path of a check, which is a GET.",
                    "check.interval": "The time from one check of an endpoint to the next.",
                    "check.timeout": "How long a check may take.",
                    "check.unhealthyThreshold": """
                    How many checks in a row must fail until the endpoint is left out.
                    """,
                    "check.healthyThreshold": """
                    How many checks in a row must succeed until the endpoint is used again.
                    """,
                    "metrics": .metrics,
                ],
                example: #"""
                    {"use": "endpoints", "for": "users.internal:80",
                     "list": [{"address": "10.0.0.7", "port": 8080, "weight": 2, "zone": "a"}, "10.0.0.8:8080"],
                     "policy": "peakEWMA", "zone": {"name": "a"}, "subset": {"size": 20, "clientIndex": 3},
                     "check": {"path": "/health"}}
                    """#)
        ) { Endpoints(settings: $0) }
    }
}

extension Endpoints {
    init(settings: Settings) {
        let host = settings.required("for")
        let new = Endpoints(
            for: host, from: settings.endpointResolver(for: host),
            policy: settings.balancingPolicy(), zone: settings.endpointZone(),
            subset: settings.endpointSubset(), health: settings.endpointHealth(),
            meter: settings.meter())
        if let fault = new.fault, !host.isEmpty { settings.issue(at: "for", fault.message) }
        // Under new rules, the endpoints keep their state. The list stays until a new list arrives.
        self = settings.reloadable(
            "endpoints", for: host.lowercased(), updating: { $0.update(to: new) }, { new })
    }
}

extension Settings {
    // MARK: The source of the endpoints

    fileprivate func endpointResolver(for host: String) -> any EndpointResolver {
        let entries = list("list")
        let path = string("file")
        let interval = seconds("interval", default: .seconds(1))
        let dns = object("dns").map { $0.dnsEndpoints(for: host) }
        let given = ["list", "file", "dns"].filter { (value($0) ?? .null) != .null }
        if given.count != 1 {
            let found = given.isEmpty ? "none of them" : given.joined(separator: " and ")
            issue(at: "", "found \(found); expected one of \"list\", \"file\" and \"dns\"")
        }
        if given == ["file"], let path { return EndpointFile(path, interval: interval) }
        if given == ["dns"], let dns { return dns }
        return fixedEndpoints(entries)
    }

    private func fixedEndpoints(_ entries: [JSONValue]?) -> FixedEndpoints {
        let found = (entries ?? []).enumerated().map { endpoint($0.element, at: $0.offset) }
        let list = FixedEndpoints(found.compactMap(\.self))
        // The indices in messages are right only if no entry is missing.
        if entries != nil, !found.contains(nil) {
            for fault in list.faults {
                issue(at: "list" + fault.path.trimmingPrefix("endpoints"), fault.message)
            }
        }
        return list
    }

    private func endpoint(_ entry: JSONValue, at index: Int) -> Endpoint? {
        let place = "list[\(index)]"
        do {
            switch entry {
            case .string(let text): return try Endpoint(parsing: text)
            case .object(let object):
                let inner = nested(object, at: place)
                defer { inner.finish() }
                return try inner.endpoint()
            default:
                issue(
                    at: place,
                    "found \(entry.kindName); expected a string such as \"10.0.0.7:8080\", or an"
                        + " object with \"address\" and \"port\"")
            }
        } catch {
            issue(at: place, (error as? ClientError)?.message ?? "\(error)")
        }
        return nil
    }

    private func endpoint() throws -> Endpoint? {
        let address = required("address")
        let port = optionalInt("port", in: 1...65_535)
        let weight = double("weight", default: 1, in: 0.000_001...1_000_000)
        let zone = string("zone")
        // The mistake was already reported.
        let isPortWrong = port == nil && (value("port") ?? .null) != .null
        if address.isEmpty || isPortWrong { return nil }
        return try Endpoint(parsing: address, port: port, weight: weight, zone: zone)
    }

    private func dnsEndpoints(for host: String) -> DNSEndpoints {
        let origin = Request(.get, Target("http://\(host.lowercased())/")).origin
        let ownPort = origin.flatMap { host.hasSuffix(":\($0.port)") ? $0.port : nil }
        let name = string("name") ?? origin?.host ?? ""
        let port = optionalInt("port", in: 1...65_535) ?? ownPort
        let refresh = seconds("refresh", default: .seconds(30))
        let limit = seconds("limit", default: .seconds(5))
        if port == nil {
            issue(at: "port", "is missing; expected a port, here or in \"for\"")
        } else if let port, let fault = ConnectTarget.host(name, port: port).fault, !name.isEmpty {
            issue(at: "name", fault)
        }
        finish()
        return DNSEndpoints(name, port: port ?? 1, refresh: refresh, limit: limit)
    }

    // MARK: The use of the endpoints

    private enum PolicyName: String, CaseIterable {
        case leastRequests, peakEWMA, roundRobin, weighted, hash
    }

    fileprivate func balancingPolicy() -> BalancingPolicy {
        let name = choice("policy", default: PolicyName.leastRequests)
        let header = string("hashHeader")
        if header != nil, name != .hash {
            issue(at: "hashHeader", "found without \"policy\": \"hash\"; expected both or none")
        }
        switch name {
        case .leastRequests: return .leastRequests
        case .peakEWMA: return .peakEWMA
        case .roundRobin: return .roundRobin
        case .weighted: return .weighted
        case .hash:
            guard let header else { return .hash { $0.targetURI.path } }
            return .hash(of: HTTPHeaders.Name(header))
        }
    }

    fileprivate func endpointZone() -> EndpointZone? {
        guard let zone = object("zone") else { return nil }
        defer { zone.finish() }
        return EndpointZone(
            zone.required("name"), spill: zone.double("spill", default: 0.7, in: 0...1))
    }

    fileprivate func endpointSubset() -> EndpointSubset? {
        guard let subset = object("subset") else { return nil }
        defer { subset.finish() }
        return EndpointSubset(
            size: subset.int("size", default: 20, in: 1...100_000), of: subset.clientIndex())
    }

    // The number of a pod in a stateful set is a text in the environment.
    private func clientIndex() -> Int {
        let key = "clientIndex"
        if case .number? = value(key) { return int(key, default: 0, in: 0...1_000_000_000) }
        guard let text = string(key) else {
            if value(key) == nil || isNull(key) { issue(at: key, "is missing; expected a number") }
            return 0
        }
        if let number = Int(text), number >= 0 { return number }
        issue(at: key, "found a string that is no number; expected an integer of at least 0")
        return 0
    }

    fileprivate func endpointHealth() -> EndpointHealth {
        let check = endpointCheck()
        let standard = EndpointHealth()
        guard let health = object("health") else { return EndpointHealth(check: check) }
        defer { health.finish() }
        return EndpointHealth(
            consecutiveFailures: health.int(
                "consecutiveFailures", default: standard.consecutiveFailures, in: 0...1_000_000),
            interval: health.seconds("interval", default: standard.interval),
            minimumRequests: health.int(
                "minimumRequests", default: standard.minimumRequests, in: 1...1_000_000),
            deviations: health.double("deviations", default: standard.deviations, in: 0...1000),
            ejection: health.seconds("ejection", default: standard.ejection),
            maxEjection: health.seconds("maxEjection", default: standard.maxEjection),
            maxEjected: health.double("maxEjected", default: standard.maxEjected, in: 0...1),
            panic: health.double("panic", default: standard.panic, in: 0...1),
            slowStart: health.seconds("slowStart", default: standard.slowStart, orZero: true),
            check: check)
    }

    private func endpointCheck() -> EndpointHealthCheck? {
        guard let check = object("check") else { return nil }
        defer { check.finish() }
        let path = check.required("path")
        let standard = EndpointHealthCheck(path: path)
        return EndpointHealthCheck(
            path: path, interval: check.seconds("interval", default: standard.interval),
            timeout: check.seconds("timeout", default: standard.timeout),
            unhealthyThreshold: check.int(
                "unhealthyThreshold", default: standard.unhealthyThreshold, in: 1...1000),
            healthyThreshold: check.int(
                "healthyThreshold", default: standard.healthyThreshold, in: 1...1000))
    }
}

extension Registry {
    mutating func registerGroups() {
        register(
            gate: "canary",
            description: PartDescription(
                """
                Spreads the requests below a base URL over groups of servers, by weight. Place the \
                gate outside gates for credentials, cookies, caches and circuits.
                """,
                settings: [
                    "of": "The base URL of the requests.",
                    "groups": .init("The groups.", type: .list(of: .object), isRequired: true),
                    "groups.baseURL": "The base URL of the group.",
                    "groups.weight": "The share of the requests, relative to the other groups.",
                    "keyHeader": """
                    Requests with the same value of this header field go to the same group.
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
                and compares the answers. Place the gate next to the transport.
                """,
                settings: [
                    "of": "The base URL of the requests.", "to": "The base URL of the copies.",
                    "limit": "The maximum number of copies under way at a time.",
                    "maxBytes": "The maximum number of bytes of a copy or of its answer.",
                    "seconds": "The longest time of a copy.",
                    "credentials": "Whether secrets other than cookies go to another origin.",
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
