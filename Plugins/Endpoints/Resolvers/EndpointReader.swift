// SPDX-License-Identifier: Apache-2.0

import TurnpikeCore
import TurnpikeSupport

/// Reads a list of endpoints from JSON, as ``EndpointFile`` describes it.
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

    /// Reads a document: a list, or an object whose member `endpoints` is one.
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
            "found \(found); expected an array of endpoints, or an object with one as \"endpoints\""
        )
        return check
    }

    private mutating func read(_ entry: JSONValue, at index: Int) {
        do throws(EndpointFault) {
            switch entry {
            case .string(let text):
                check.add(Endpoint(try Endpoint.target(of: text)), at: index)
            case .object(let object):
                let before = check.faults.count
                let details = details(object, at: index)
                let target = try target(object)
                guard check.faults.count == before else { return }
                check.add(
                    Endpoint(target, weight: details.weight, zone: details.zone), at: index)
            default: throw EndpointFault(notAnEntry: entry)
            }
        } catch {
            check.faults.add(at: index, error.message)
        }
    }

    private func target(_ object: JSONObject) throws(EndpointFault) -> ConnectTarget {
        guard let address = object["address"], address != .null else {
            throw EndpointFault(
                "found no \"address\"; expected a string such as \"10.0.0.7\"")
        }
        guard let text = address.string else {
            throw EndpointFault(
                "found \(address.kindName) as \"address\"; expected a string such as \"10.0.0.7\"")
        }
        guard let port = object["port"], port != .null else {
            return try Endpoint.target(address: text, port: nil)
        }
        guard case .number(let number) = port, let value = number.int else {
            throw EndpointFault(
                "found \(shown(port)) as \"port\"; expected an integer from 1 to 65535")
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
                zone = text(member.value, "zone", at: index)
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

    private mutating func text(_ value: JSONValue, _ member: String, at index: Int) -> String? {
        if let text = value.string { return text }
        check.faults.add(
            at: index, in: member, "found \(value.kindName); expected a string")
        return nil
    }

    private func shown(_ value: JSONValue) -> String {
        guard case .number(let number) = value else { return value.kindName }
        return Grammar.beginning(of: number.description, upTo: 40)
    }
}
