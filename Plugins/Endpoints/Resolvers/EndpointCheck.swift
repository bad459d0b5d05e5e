// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// The rules for a list of endpoints from any source.
///
/// A list has 1 to 100,000 endpoints. A repeated entry is dropped, because registries repeat
/// entries. If two entries for one target have different weights or zones, the list has a fault.
struct EndpointCheck {
    static let maxCount = 100_000
    private static let maxWeight = 1_000_000.0
    private static let minWeight = 0.000_001
    private static let maxTextBytes = 1024

    private var endpoints: [Endpoint] = []
    private var places: [ConnectTarget: (entry: Int, kept: Int)] = [:]
    var faults = EndpointFaults()

    static func checked(_ endpoints: [Endpoint]) -> EndpointCheck {
        var check = EndpointCheck()
        guard check.admits(endpoints.count) else { return check }
        for (index, endpoint) in endpoints.enumerated() { check.add(endpoint, at: index) }
        return check
    }

    mutating func admits(_ count: Int) -> Bool {
        if count == 0 {
            faults.add("found an empty list; expected at least one endpoint")
        } else if count > Self.maxCount {
            faults.add("found \(count) endpoints; expected at most \(Self.maxCount)")
        }
        return faults.count == 0
    }

    mutating func add(_ endpoint: Endpoint, at index: Int) {
        let before = faults.count
        checkTarget(endpoint.target, at: index)
        if !(endpoint.weight >= Self.minWeight && endpoint.weight <= Self.maxWeight) {
            addWeight(endpoint.weight.description, at: index)
        }
        if let zone = endpoint.zone { checkZone(zone, at: index) }
        if faults.count == before { keep(endpoint, at: index) }
    }

    mutating func addWeight(_ found: String, at index: Int) {
        faults.add(
            at: index, in: "weight",
            "found \(found); expected a number from 0.000001 to 1000000 (remove an endpoint that"
                + " must not get calls)")
    }

    func result(of source: String) throws -> [Endpoint] {
        if let error = faults.error(in: source) { throw error }
        return endpoints
    }

    // MARK: Entries

    private mutating func checkTarget(_ target: ConnectTarget, at index: Int) {
        if let fault = target.fault { return faults.add(at: index, fault) }
        guard case .host(let host, _) = target, !host.contains(":") else { return }
        let last = host.utf8.split(separator: UInt8(ascii: ".")).last.map { Substring($0) } ?? ""
        // A resolver and a person read 010.0.0.7 and 10.7 as different addresses.
        if IPAddress.readsAsNumber(last), IPAddress(host)?.description != host {
            faults.add(
                at: index,
                "found \"\(Grammar.escaped(host, upTo: 80))\"; expected an IPv4 address as four"
                    + " numbers from 0 to 255 without leading zeros, or a name")
        } else if host.utf8.first == UInt8(ascii: ".") || host.contains("..") {
            faults.add(
                at: index,
                "found the host \"\(Grammar.escaped(host, upTo: 80))\"; expected a name without"
                    + " empty parts")
        }
    }

    private mutating func checkZone(_ text: String, at index: Int) {
        let size = text.utf8.count
        if size > 0, size <= Self.maxTextBytes, text.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) {
            return
        }
        let found =
            size == 0
            ? "an empty text"
            : size > Self.maxTextBytes ? "\(size) bytes" : "a control character"
        faults.add(
            at: index, in: "zone",
            "found \(found); expected 1 to \(Self.maxTextBytes) bytes of text")
    }

    private mutating func keep(_ endpoint: Endpoint, at index: Int) {
        let target = Self.compared(endpoint.target)
        if let place = places[target] {
            let kept = endpoints[place.kept]
            if kept.weight == endpoint.weight, kept.zone == endpoint.zone { return }
            let first = EndpointFaults.path(place.entry)
            return faults.add(
                at: index,
                "found \(endpoint.target) a second time, with another weight or zone;"
                    + " expected the weight and zone of \(first), or only one entry")
        }
        places[target] = (index, endpoints.count)
        endpoints.append(endpoint)
    }

    // Names are equal in any case (RFC 4343), and IPv6 addresses in any spelling.
    private static func compared(_ target: ConnectTarget) -> ConnectTarget {
        guard case .host(let host, let port) = target else { return target }
        if host.contains(":"), let address = IPAddress(host) {
            return .host(address.description, port: port)
        }
        return .host(host.lowercased(), port: port)
    }
}

/// The first hundred faults of a list with their paths, and the number of all faults.
struct EndpointFaults {
    private static let maxKept = 100
    private static let maxShown = 3

    private(set) var first: [(path: String, message: String)] = []
    private(set) var count = 0

    // Adds a fault of the list, of an entry or of a member. Only the first hundred need a message.
    mutating func add(
        at index: Int? = nil, in member: String = "", _ message: @autoclosure () -> String
    ) {
        count += 1
        guard first.count < Self.maxKept else { return }
        let place = index.map(Self.path) ?? "endpoints"
        first.append((member.isEmpty ? place : "\(place).\(member)", message()))
    }

    static func path(_ index: Int) -> String { "endpoints[\(index)]" }

    func error(in source: String) -> ClientError? {
        if count == 0 { return nil }
        var reasons = first.prefix(Self.maxShown).map { "\($0.path): \($0.message)" }
        if count > reasons.count { reasons.append("and \(count - reasons.count) more like these") }
        return ClientError(
            .configuration, "\(source) cannot be used: \(reasons.joined(separator: "; "))")
    }
}

struct EndpointReader {
    private static let members = ["address", "port", "weight", "zone", "labels"]

    private var check: EndpointCheck

    /// Reads a list whose entries have paths such as `endpoints[3].port`.
    static func read(_ entries: [JSONValue]) -> EndpointCheck {
        var reader = EndpointReader(check: EndpointCheck())
        guard reader.check.admits(entries.count) else { return reader.check }
        for (index, entry) in entries.enumerated() { reader.read(entry, at: index) }
        return reader.check
    }

    /// Reads a document, which is a list or an object with the list `endpoints`.
    static func read(_ document: JSONValue) -> EndpointCheck {
        if let entries = document.array ?? document["endpoints"]?.array { return read(entries) }
        var check = EndpointCheck()
        let found =
            switch document {
            case .object(let object):
                object["endpoints"].map { "\($0.kindName) as \"endpoints\"" }
                    ?? "an object without \"endpoints\""
            default: document.kindName
            }
        check.faults.add(
            "found \(found); expected an array of endpoints, or an object with \"endpoints\""
        )
        return check
    }

    private mutating func read(_ entry: JSONValue, at index: Int) {
        do throws(ClientError) {
            switch entry {
            case .string(let text):
                check.add(Endpoint(try Endpoint.target(of: text)), at: index)
            case .object(let object):
                let before = check.faults.count
                let (weight, zone) = details(object, at: index)
                let target = try target(object)
                guard check.faults.count == before else { return }
                check.add(Endpoint(target, weight: weight, zone: zone), at: index)
            default:
                throw expected(
                    "\(entry.kindName)",
                    "a string such as \"10.0.0.7:8080\", or an object with"
                        + " \"address\" and \"port\"")
            }
        } catch {
            check.faults.add(at: index, error.message)
        }
    }

    private func target(_ object: JSONObject) throws(ClientError) -> ConnectTarget {
        guard let address = object["address"], address != .null else {
            throw expected("no \"address\"", "a string such as \"10.0.0.7\"")
        }
        guard let text = address.string else {
            throw expected(
                "\(address.kindName) as \"address\"", "a string such as \"10.0.0.7\"")
        }
        guard let port = object["port"], port != .null else { return try Endpoint.target(of: text) }
        guard case .number(let number) = port, let value = number.int else {
            throw expected("\(shown(port)) as \"port\"", "an integer from 1 to 65535")
        }
        return try Endpoint.target(address: text, port: value)
    }

    private mutating func details(
        _ object: JSONObject, at index: Int
    ) -> (weight: Double, zone: String?) {
        var (weight, zone) = (1.0, String?.none)
        for member in object where member.value != .null {
            switch member.name {
            case "weight":
                if let number = member.value.double {
                    weight = number
                } else {
                    check.addWeight(member.value.kindName, at: index)
                }
            case "zone":
                zone = member.value.string
                if zone == nil {
                    check.faults.add(
                        at: index, in: "zone",
                        "found \(member.value.kindName); expected a string")
                }
            case "address", "port", "labels": break
            default:
                check.faults.add(
                    at: index, in: Grammar.escaped(member.name, upTo: 100),
                    "there is no such member" + NearMiss.hint(for: member.name, among: Self.members)
                )
            }
        }
        return (weight, zone)
    }

    private func expected(_ found: String, _ wanted: String) -> ClientError {
        ClientError(.configuration, "found \(found); expected \(wanted)")
    }

    private func shown(_ value: JSONValue) -> String {
        guard case .number(let number) = value else { return value.kindName }
        return Grammar.beginning(of: number.description, upTo: 40)
    }
}
