// SPDX-License-Identifier: Apache-2.0

import TurnpikeSupport

extension Settings {
    /// Returns the part that the file describes under `shared`, if a key says that this gate uses it:
    /// with true, or with the name that stands in `shared.use`.
    ///
    /// A gate that names what the file does not describe has a mistake.
    /// - Parameters:
    ///   - key: The key of the gate.
    ///   - placeholder: Makes a part for a file with a mistake, and for the reference.
    /// - Returns: The part; nil if the gate does not use it.
    package func sharedPart<Part: SharedPart>(
        _ key: String, placeholder: () -> Part
    ) -> Part? {
        guard let value = present(key, .either(.boolean, .string), default: .bool(false)) else {
            return nil
        }
        if value.bool == false { return nil }
        // What is only described has no file.
        if reads != nil { return placeholder() }
        sharing?.isUsed = true
        guard let described = sharing?.value else {
            issue(
                at: key,
                "the file describes no shared state; write it beside \"stack\", as in"
                    + " \"shared\": {\"use\": \"\(sharing?.kinds.last ?? "NAME")\"}")
            return placeholder()
        }
        if value.bool == nil {
            guard let name = text(value, at: key) else { return placeholder() }
            if let use = described["use"]?.string, use != name {
                let shown = value.string.map { "\"\(Grammar.escaped($0, upTo: 100))\"" }
                issue(
                    at: key,
                    "found \(shown ?? "another name"); the shared state of the file is"
                        + " \"\(Grammar.escaped(use, upTo: 100))\"")
                return placeholder()
            }
        }
        guard let part = sharing?.part else { return placeholder() }
        if let part = part as? Part { return part }
        issue(at: key, "this gate cannot use the shared state of the file")
        return placeholder()
    }

    /// The value with the texts that its references stand for.
    func resolved(_ value: JSONValue, at key: String) -> JSONValue {
        switch value {
        case .array(let elements): return .array(elements.map { resolved($0, at: key) })
        case .object(let object):
            if object.count == 1, (object["env"] ?? object["file"])?.string != nil {
                return text(value, at: key).map { .string($0) } ?? value
            }
            var all = JSONObject()
            for member in object { all[member.name] = resolved(member.value, at: key) }
            return .object(all)
        default: return value
        }
    }
}
