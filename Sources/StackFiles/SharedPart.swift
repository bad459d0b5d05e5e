// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
public import TurnpikeMiddleware
import TurnpikeSupport

/// The member `shared` of a stack file: a store that several gates share.
///
/// The part is created once for each file, before the gates. If `shared` is unchanged, a reload
/// does not replace the part. If `shared` has changed, the old part is released after the last call
/// with the part.
public protocol SharedPart: AnyObject, Sendable {
    /// Releases the resources of the part.
    ///
    /// ``/TurnpikeCore/Client/shutdown(grace:cancellingWith:)`` calls this method after the gates
    /// have shut down.
    func shutdown() async
}

/// State that the replicas of a service share, for the gate `retry`.
///
/// The module `TurnpikeSharedStateStackFiles` has an implementation.
public protocol SharedGates: SharedPart {
    /// Returns the cool-downs that all gates share. With a key, each account has its own
    /// cool-downs.
    func cooldowns(key: (@Sendable (Request) -> String?)?) -> Cooldowns
}

/// A value of a file and the texts of its references, for a comparison with another file.
///
/// The description is empty, because the texts may be secrets.
struct Unshown<Value: Hashable & Sendable>: Hashable, Sendable, CustomStringConvertible,
    CustomReflectable
{
    private let value: Value

    init(_ value: Value) { self.value = value }

    var description: String { Redaction.mark }
    var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension Unshown where Value == JSONValue {
    // Resolves the references in a value, or in null if the value is missing. The code that reads
    // the setting reports a mistake in a reference.
    init(resolving value: JSONValue?) {
        self.init(Settings([:], Settings.Reading()).resolved(value ?? .null, at: ""))
    }
}

final class Sharing {
    let value: JSONValue?
    let kinds: [String]
    var part: (any SharedPart)?
    var isUsed = false

    init(_ value: JSONValue?, kinds: [String]) {
        self.value = value
        self.kinds = kinds
    }
}

extension Settings {
    /// Whether the setting `shared` requests the shared state of the file, even if there is a
    /// mistake.
    public var usesSharedPart: Bool {
        value("shared").map { $0 != .null && $0 != .bool(false) } ?? false
    }

    /// Returns the shared part of the file, if the setting `shared` of this gate asks for the part.
    ///
    /// A gate uses the part if the value of the setting is true, or equals the name in
    /// `shared.use`. If a gate asks for a store that the file does not describe, the method records
    /// a mistake.
    /// - Parameter type: The type of the part.
    /// - Returns: The part; nil if the gate does not use the part, after a mistake, and for the
    ///   reference.
    public func sharedPart<Part>(_ type: Part.Type) -> Part? {
        let key = "shared"
        guard let value = present(key, .either(.boolean, .string), default: .bool(false)) else {
            return nil
        }
        if value.bool == false { return nil }
        // A factory that runs for a description has no file.
        if reads != nil { return nil }
        sharing?.isUsed = true
        guard let described = sharing?.value else {
            issue(
                at: key,
                "the file describes no shared state; write it beside \"stack\", as in"
                    + " \"shared\": {\"use\": \"\(sharing?.kinds.last ?? "NAME")\"}")
            return nil
        }
        if value.bool == nil {
            guard let name = text(value, at: key) else { return nil }
            if let use = described["use"]?.string, use != name {
                let shown = value.string.map { "\"\(Grammar.escaped($0, upTo: 100))\"" }
                issue(
                    at: key,
                    "found \(shown ?? "another name"); the shared state of the file is"
                        + " \"\(Grammar.escaped(use, upTo: 100))\"")
                return nil
            }
        }
        guard let part = sharing?.part else { return nil }
        if let part = part as? Part { return part }
        issue(at: key, "this gate cannot use the shared state of the file")
        return nil
    }

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
