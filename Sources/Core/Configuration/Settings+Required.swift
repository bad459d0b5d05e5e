// SPDX-License-Identifier: Apache-2.0

// A part of which the value is missing is never used, so what these return then is of no matter.
extension Settings {
    /// Returns a required string.
    public func required(_ key: String) -> String {
        guard let value = demanded(key, .string, "a string") else { return "" }
        return text(value, at: key) ?? ""
    }

    /// Returns a required Boolean value.
    public func requiredBool(_ key: String) -> Bool {
        _ = demanded(key, .boolean, "true or false")
        return present(key, .boolean) != nil && bool(key, default: false)
    }

    /// Returns a required integer within bounds.
    public func requiredInt(_ key: String, in range: ClosedRange<Int>) -> Int {
        _ = demanded(key, .integer(range), "an integer \(Self.bounds(range))")
        return optionalInt(key, in: range) ?? range.lowerBound
    }

    /// Returns a required number within bounds.
    public func requiredDouble(_ key: String, in range: ClosedRange<Double>) -> Double {
        _ = demanded(key, .number(range), "a number \(Self.bounds(range))")
        return optionalDouble(key, in: range) ?? range.lowerBound
    }

    /// Returns a required positive duration in seconds, which may have a fraction.
    public func requiredSeconds(_ key: String, orZero: Bool = false) -> Duration {
        _ = demanded(key, .seconds(orZero: orZero), Self.secondsText(orZero: orZero))
        return optionalSeconds(key, orZero: orZero) ?? .zero
    }

    /// Returns one of several strings, which is required; nil if it is missing or wrong.
    public func requiredChoice<Choice: RawRepresentable & CaseIterable>(
        _ key: String, of type: Choice.Type = Choice.self
    ) -> Choice? where Choice.RawValue == String {
        let choices = Choice.allCases.map(\.rawValue)
        _ = demanded(key, .choice(choices), "one of " + choices.sorted().joined(separator: ", "))
        return named(key, default: nil)
    }

    /// Returns a required array of strings, which may be empty.
    public func requiredStrings(_ key: String) -> [String] {
        _ = demanded(key, .list(of: .string), "an array of strings")
        return strings(key)
    }

    /// Returns the settings of a required object; nil if it is missing or wrong.
    public func requiredObject(_ key: String) -> Settings? {
        _ = demanded(key, .object, "an object")
        return object(key)
    }

    /// Returns the value of a key, and records a mistake if it is missing or null.
    private func demanded(
        _ key: String, _ type: SettingType, _ expected: @autoclosure () -> String
    ) -> JSONValue? {
        if let value = present(key, type, isRequired: true) { return value }
        issue(at: key, "is missing; expected \(expected())")
        return nil
    }
}
