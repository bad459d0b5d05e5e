// SPDX-License-Identifier: Apache-2.0

import Foundation
import TurnpikeCore
import TurnpikeInspection
import TurnpikeSupport

struct HARFile {
    struct Slot {
        let json: JSONValue
        /// The entry, or nil if the entry cannot be replayed.
        var entry: HAREntry?
        /// The reason why the entry cannot be replayed, with the place of the mistake.
        var fault: String?

        init(_ node: HARNode) {
            json = node.value
            do {
                entry = try HAREntry(node)
            } catch {
                fault = (error as? ClientError)?.message ?? "\(error)"
            }
        }
    }

    /// The members of `log` without the entries.
    var log: JSONObject
    var slots: [Slot]

    private static let maxBytes = 512 << 20

    static var empty: HARFile {
        HARFile(log: HARFormat.log, slots: [])
    }

    /// Returns nil if the file does not exist.
    static func read(
        _ file: URL, as content: PrivateFile, redactor: ExchangeRedactor,
        matching: CassetteMatching
    ) throws -> HARFile? {
        do {
            guard let data = try content.read(maxBytes: maxBytes) else { return nil }
            return try parse(data, redactor: redactor, matching: matching)
        } catch {
            let reason = (error as? ClientError)?.message ?? "\(error)"
            throw ClientError(
                .configuration, "the cassette \(file.lastPathComponent): \(reason)",
                underlying: (error as? ClientError)?.underlying)
        }
    }

    private static func parse(
        _ data: Data, redactor: ExchangeRedactor, matching: CassetteMatching
    ) throws -> HARFile {
        let root = HARNode(value: try JSONValue(parsing: data), path: "the file")
        guard let value = try root.object()["log"] else {
            throw ClientError(.configuration, "log is missing; the file is not a HAR file")
        }
        let log = HARNode(value: value, path: "log")
        var rest = try log.object()
        rest["entries"] = nil
        if try log.member("creator") == nil { rest["creator"] = empty.log["creator"] }
        // A mistake in one entry does not affect the other entries.
        var slots = try log.required("entries").elements().map(Slot.init)
        for slot in slots { slot.entry?.teach(redactor) }
        for index in slots.indices { slots[index].entry?.prepare(redactor, matching) }
        return HARFile(log: rest, slots: slots)
    }

    static func text(_ log: JSONObject, entries: [Data]) -> Data {
        var text = Data("{\n  \"log\": {\n".utf8)
        for member in log {
            text += Data("    \(JSONValue.string(member.name)): ".utf8)
            text += indented(member.value, by: 4) + Data(",\n".utf8)
        }
        text += Data("    \"entries\": [".utf8)
        for (index, entry) in entries.enumerated() {
            text += Data((index == 0 ? "\n      " : ",\n      ").utf8) + entry
        }
        text += Data((entries.isEmpty ? "]\n  }\n}\n" : "\n    ]\n  }\n}\n").utf8)
        return text
    }

    static func text(of entry: JSONValue) -> Data { indented(entry, by: 6) }

    // The tokens of JSON contain no line breaks.
    private static func indented(_ value: JSONValue, by count: Int) -> Data {
        let lineEnd = Data("\n".utf8) + Data(repeating: 0x20, count: count)
        return Data(value.data(pretty: true).split(separator: 0x0A).joined(separator: lineEnd))
    }
}
