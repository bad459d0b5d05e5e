// SPDX-License-Identifier: Apache-2.0

extension Settings {
    /// Returns an array of strings; empty if the key is missing or null.
    public func strings(_ key: String) -> [String] { optionalStrings(key) ?? [] }

    /// Returns an array of strings, or nil if the key is missing or null.
    package func optionalStrings(_ key: String) -> [String]? {
        guard let value = present(key, .list(of: .string)) else { return nil }
        guard let elements = value.array else {
            issue(at: key, "found \(value.kindName); expected an array of strings")
            return nil
        }
        return elements.enumerated().compactMap { text($0.element, at: "\(key)[\($0.offset)]") }
    }

    /// Returns an array of `[name, value]` pairs; empty if the key is missing or null.
    public func headers(_ key: String) -> HTTPHeaders {
        var headers = HTTPHeaders()
        for (index, pair) in (elements(key, .headers) ?? []).enumerated() {
            let place = "\(key)[\(index)]"
            guard let pair = pair.array, pair.count == 2 else {
                issue(at: place, "expected a pair [name, value]")
                continue
            }
            guard let name = text(pair[0], at: place + "[0]"),
                let value = text(pair[1], at: place + "[1]")
            else { continue }
            do {
                try headers.add(HTTPHeaders.Name(name), value)
            } catch {
                issue(at: place, (error as? ClientError)?.message ?? "\(error)")
            }
        }
        return headers
    }

    /// Returns an array of any values, or nil if the key is missing or null.
    public func list(_ key: String) -> [JSONValue]? { elements(key, .list(of: .any)) }

    private func elements(_ key: String, _ type: SettingType) -> [JSONValue]? {
        guard let value = present(key, type) else { return nil }
        if let elements = value.array { return elements }
        issue(at: key, "found \(value.kindName); expected an array")
        return nil
    }
}
