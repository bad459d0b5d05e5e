// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

extension StackExplanation {
    /// The explanation as JSON.
    ///
    /// Durations are in seconds, sizes in bytes. A limit is a number, `"unbounded"` or `"unknown"`.
    /// Of a long stack, a note in `worst` says what is not computed (`StackBounds.Extent`).
    public var json: JSONValue {
        var members: [(String, JSONValue)] = [
            ("method", .string(method)), ("url", .string(url)), ("transport", .string(transport)),
        ]
        if let fault { members.append(("fault", .string(fault))) }
        members.append(("gates", .array(gates.map(\.json))))
        members.append(("worst", worst.json))
        return .object(JSONObject(members))
    }
}

extension GateExplanation {
    fileprivate var json: JSONValue {
        var members: [(String, JSONValue)] = [
            ("place", .string(place)), ("name", .string(name)), ("runs", .string(runs.rawValue)),
        ]
        switch status {
        case .applies: members.append(("status", "applies"))
        case .passedOver(let reason):
            members += [("status", "passedOver"), ("reason", .string(reason))]
        case .skipped(let reason): members += [("status", "skipped"), ("reason", .string(reason))]
        case .unknown: members.append(("status", "unknown"))
        }
        if mayChange { members.append(("mayChange", true)) }
        if let summary { members.append(("summary", .string(summary))) }
        if !fields.isEmpty {
            let fields = fields.map { field -> JSONValue in
                ["name": .string(field.name), "value": .string(field.value)]
            }
            members.append(("fields", .array(fields)))
        }
        if !gates.isEmpty { members.append(("gates", .array(gates.map(\.json)))) }
        return .object(JSONObject(members))
    }
}

extension StackBounds {
    fileprivate var json: JSONValue {
        var members: [(String, JSONValue)] = [
            ("sends", sends.json { .number(JSONNumber(Int($0))) }),
            ("time", time.json(Self.seconds)), ("head", head.json(Self.seconds)),
            ("waiting", waiting.json(Self.seconds)),
            ("memory", memory.json { .number(JSONNumber(Int($0))) }),
            ("disk", disk.json { .number(JSONNumber(Int($0))) }),
        ]
        if let note { members.append(("note", .string(note))) }
        return .object(JSONObject(members))
    }

    private static func seconds(_ time: Duration) -> JSONValue {
        JSONNumber(time.inSeconds).map { .number($0) } ?? .null
    }
}

extension StackBound {
    fileprivate func json(_ json: (Value) -> JSONValue) -> JSONValue {
        let limit: JSONValue =
            switch self.limit {
            case .atMost(let value): json(value)
            case .unbounded: "unbounded"
            case .unknown: "unknown"
            }
        var members: [(String, JSONValue)] = [
            ("limit", limit), ("by", .array(places.map { .string($0) })),
        ]
        if let framework { members.append(("framework", .string(framework))) }
        return .object(JSONObject(members))
    }
}
