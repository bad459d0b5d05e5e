// SPDX-License-Identifier: Apache-2.0

public import TurnpikeCore
import TurnpikeSupport

// If a required setting is missing, the part is never used, and the results of these functions have
// no effect.
extension Settings {
    // MARK: Numbers

    /// Returns a Boolean value.
    public func bool(_ key: String, default fallback: Bool) -> Bool {
        read(key, .boolean, default: .bool(fallback), \.bool) ?? fallback
    }

    /// Returns a required Boolean value.
    public func requiredBool(_ key: String) -> Bool {
        read(key, .boolean, isRequired: true, \.bool) ?? false
    }

    /// Returns an integer within bounds.
    public func int(_ key: String, default fallback: Int, in range: ClosedRange<Int>) -> Int {
        integer(key, in: range, default: .number(JSONNumber(fallback))) ?? fallback
    }

    /// Returns an integer within bounds, or nil if the key is missing or null.
    public func optionalInt(_ key: String, in range: ClosedRange<Int>) -> Int? {
        integer(key, in: range)
    }

    /// Returns a required integer within bounds.
    public func requiredInt(_ key: String, in range: ClosedRange<Int>) -> Int {
        integer(key, in: range, isRequired: true) ?? range.lowerBound
    }

    /// Returns a number within bounds.
    public func double(
        _ key: String, default fallback: Double, in range: ClosedRange<Double>
    ) -> Double {
        number(key, in: range, default: JSONValue(shortest: fallback)) ?? fallback
    }

    /// Returns a number within bounds, or nil if the key is missing or null.
    public func optionalDouble(_ key: String, in range: ClosedRange<Double>) -> Double? {
        number(key, in: range)
    }

    /// Returns a required number within bounds.
    public func requiredDouble(_ key: String, in range: ClosedRange<Double>) -> Double {
        number(key, in: range, isRequired: true) ?? range.lowerBound
    }

    /// Returns a positive duration in seconds, which may have a fraction.
    public func seconds(
        _ key: String, default fallback: Duration, orZero: Bool = false
    ) -> Duration {
        duration(key, orZero: orZero, default: JSONValue(shortest: fallback / .seconds(1)))
            ?? fallback
    }

    /// Returns a duration in seconds, or nil if the key is missing or null.
    public func optionalSeconds(_ key: String, orZero: Bool = false) -> Duration? {
        duration(key, orZero: orZero)
    }

    /// Returns a required positive duration in seconds, which may have a fraction.
    public func requiredSeconds(_ key: String, orZero: Bool = false) -> Duration {
        duration(key, orZero: orZero, isRequired: true) ?? .zero
    }

    private func integer(
        _ key: String, in range: ClosedRange<Int>, default standard: JSONValue? = nil,
        isRequired: Bool = false
    ) -> Int? {
        read(key, .integer(range), default: standard, isRequired: isRequired) { value in
            value.int.flatMap { range.contains($0) ? $0 : nil }
        }
    }

    private func number(
        _ key: String, in range: ClosedRange<Double>, default standard: JSONValue? = nil,
        isRequired: Bool = false
    ) -> Double? {
        read(key, .number(range), default: standard, isRequired: isRequired) { value in
            value.double.flatMap { range.contains($0) ? $0 : nil }
        }
    }

    private func duration(
        _ key: String, orZero: Bool, default standard: JSONValue? = nil, isRequired: Bool = false
    ) -> Duration? {
        let type = SettingType.seconds(orZero: orZero)
        return read(key, type, default: standard, isRequired: isRequired) { value in
            guard let number = value.double, number <= 1e9, number > 0 || (orZero && number == 0)
            else { return nil }
            return .seconds(number)
        }
    }

    private func read<Value>(
        _ key: String, _ type: SettingType, default standard: JSONValue? = nil,
        isRequired: Bool = false, _ parse: (JSONValue) -> Value?
    ) -> Value? {
        guard let value = present(key, type, default: standard, isRequired: isRequired) else {
            return nil
        }
        if let result = parse(value) { return result }
        issue(at: key, "found \(type.shown(value)); expected \(type.expected(for: value))")
        return nil
    }

    // MARK: Texts

    /// Returns a string, or nil if the key is missing or null.
    public func string(_ key: String) -> String? {
        present(key, .string).flatMap { text($0, at: key) }
    }

    /// Returns a required string.
    public func required(_ key: String) -> String {
        present(key, .string, isRequired: true).flatMap { text($0, at: key) } ?? ""
    }

    /// Returns one of several strings.
    public func choice<Choice: RawRepresentable & CaseIterable>(
        _ key: String, default fallback: Choice
    ) -> Choice where Choice.RawValue == String {
        named(key, default: .string(fallback.rawValue)) ?? fallback
    }

    /// Returns one of several strings, or nil if the value is missing or wrong.
    ///
    /// The part needs this setting.
    public func requiredChoice<Choice: RawRepresentable & CaseIterable>(
        _ key: String, of type: Choice.Type = Choice.self
    ) -> Choice? where Choice.RawValue == String {
        named(key, isRequired: true)
    }

    private func named<Choice: RawRepresentable & CaseIterable>(
        _ key: String, default fallback: JSONValue? = nil, isRequired: Bool = false
    ) -> Choice? where Choice.RawValue == String {
        let choices = Choice.allCases.map(\.rawValue)
        guard
            let value = present(
                key, .choice(choices), default: fallback, isRequired: isRequired),
            let name = text(value, at: key)
        else { return nil }
        if let choice = Choice(rawValue: name) { return choice }
        // For a value from a reference, the message does not even show a similar name, because the
        // value may be a secret.
        let (told, shown) =
            value.string == nil
            ? ("", "the referenced string") : (name, "\"\(Grammar.escaped(name))\"")
        issue(at: key, shown + " is not known" + NearMiss.hint(for: told, among: choices))
        return nil
    }

    // MARK: Lists and objects

    /// Returns an array of strings, which is empty if the key is missing or null.
    public func strings(_ key: String) -> [String] { optionalStrings(key) ?? [] }

    /// Returns an array of strings, or nil if the key is missing or null.
    public func optionalStrings(_ key: String) -> [String]? { texts(key) }

    /// Returns a required array of strings, which may be empty.
    public func requiredStrings(_ key: String) -> [String] { texts(key, isRequired: true) ?? [] }

    private func texts(_ key: String, isRequired: Bool = false) -> [String]? {
        read(key, .list(of: .string), isRequired: isRequired, \.array)?.enumerated().compactMap {
            text($0.element, at: "\(key)[\($0.offset)]")
        }
    }

    // Converts each element of a list into a value. An element without a value is a mistake.
    func each<Element, Value>(
        _ elements: [Element], of key: String, expected: String, _ make: (Element) -> Value?
    ) -> [Value] {
        elements.enumerated().compactMap { index, element in
            if let value = make(element) { return value }
            issue(at: "\(key)[\(index)]", "expected \(expected)")
            return nil
        }
    }

    /// Returns an array of any values, or nil if the key is missing or null.
    public func list(_ key: String) -> [JSONValue]? { read(key, .list(of: .any), \.array) }

    /// Returns an array of `[name, value]` pairs, which is empty if the key is missing or null.
    public func headers(_ key: String) -> HTTPHeaders {
        var headers = HTTPHeaders()
        for (index, pair) in (read(key, .headers, \.array) ?? []).enumerated() {
            let place = "\(key)[\(index)]"
            guard let pair = pair.array, pair.count == 2 else {
                issue(at: place, "expected a pair [name, value]")
                continue
            }
            guard let name = text(pair[0], at: place + "[0]"),
                let value = text(pair[1], at: place + "[1]")
            else { continue }
            if let defect = Self.defect(HTTPHeaders.Name(name), value) {
                issue(at: place, defect)
            } else {
                headers.append(HTTPHeaders.Name(name), value)
            }
        }
        return headers
    }

    /// Returns the settings of a nested object, or nil if the key is missing or null.
    public func object(_ key: String) -> Settings? { object(key, isRequired: false) }

    /// Returns the settings of a required object, or nil if the object is missing or wrong.
    public func requiredObject(_ key: String) -> Settings? { object(key, isRequired: true) }

    private func object(_ key: String, isRequired: Bool) -> Settings? {
        let object = read(key, .object, isRequired: isRequired, \.object)
        // The reference also contains the settings of a missing object.
        let isShown = describesMembers(of: key) && (value(key) ?? .null) == .null
        return (object ?? (isShown ? [:] : nil)).map { nested($0, at: key) }
    }
}

extension SettingType {
    // Returns the text for a value of the wrong type, for a message. If a number is expected, the
    // text shows a number from the file. For other values, the text shows only the kind, because a
    // string may be a misplaced secret.
    fileprivate func shown(_ value: JSONValue) -> String {
        switch (form, value) {
        case (.integer, .number(let number)), (.number, .number(let number)),
            (.seconds, .number(let number)):
            String(number.description.prefix(40))
        default: value.kindName
        }
    }

    fileprivate func expected(for value: JSONValue) -> String {
        if case .seconds = form, let number = value.double, number > 1e9 {
            return "at most 1000000000 seconds"
        }
        return expected
    }

    var expected: String {
        switch form {
        case .seconds(let orZero): "a number of seconds, \(orZero ? "0 or more" : "above 0")"
        case .choice(let names): "one of " + names.sorted().joined(separator: ", ")
        case .integer(let range) where range.upperBound == .max:
            "an integer of at least \(range.lowerBound)"
        case .list(let element): element == .string ? "an array of strings" : "an array"
        case .headers: "an array"
        default: words
        }
    }
}
