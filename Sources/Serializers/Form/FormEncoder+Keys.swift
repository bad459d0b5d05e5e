// SPDX-License-Identifier: Apache-2.0

extension FormEncoder.Keys {
    /// Returns the field name for a key.
    func name(_ key: String) -> String {
        switch self {
        case .unchanged: key
        case .snakeCase: Self.words(key, joinedBy: "_")
        case .kebabCase: Self.words(key, joinedBy: "-")
        case .capitalized: key.prefix(1).uppercased() + key.dropFirst()
        case .uppercased: key.uppercased()
        case .lowercased: key.lowercased()
        case .custom(let make): make(key)
        }
    }

    // Splits a camel-case name into words. The first letter counts as lower case. A run of capitals
    // is one word up to the capital before the next lower-case letter: `myHTTPServer` becomes my,
    // HTTP, Server. A run without a lower-case letter after it lasts to the end.
    private static func words(_ name: String, joinedBy separator: Character) -> String {
        let letters = Array(name)
        var starts: Set<Int> = []
        var position = 1
        while let capital = letters.indices.first(where: {
            $0 >= position && letters[$0].isUppercase
        }) {
            starts.insert(capital)
            guard
                let small = letters.indices.first(where: { $0 > capital && letters[$0].isLowercase }
                )
            else { break }
            if small > capital + 1 { starts.insert(small - 1) }
            position = small + 1
        }
        var result = ""
        for (index, letter) in letters.enumerated() {
            if starts.contains(index) { result.append(separator) }
            result += letter.lowercased()
        }
        return result
    }
}
